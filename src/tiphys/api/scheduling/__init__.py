"""scheduling.k8s.io/v1: whose pods go first."""

from tiphys.api.kind import Kind
from tiphys.api.scheduling.priorityclasses import PRIORITYCLASSES

KINDS: tuple[Kind, ...] = (PRIORITYCLASSES,)
