"""policy/v1: how many pods may be taken away at once."""

from tiphys.api.kind import Kind
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS

KINDS: tuple[Kind, ...] = (PODDISRUPTIONBUDGETS,)
