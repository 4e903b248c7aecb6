"""coordination.k8s.io/v1: who holds what, and until when."""

from tiphys.api.coordination.leases import LEASES
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (LEASES,)
