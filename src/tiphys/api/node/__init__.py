"""node.k8s.io/v1: ways to run containers that nodes may offer."""

from tiphys.api.kind import Kind
from tiphys.api.node.runtimeclasses import RUNTIMECLASSES

KINDS: tuple[Kind, ...] = (RUNTIMECLASSES,)
