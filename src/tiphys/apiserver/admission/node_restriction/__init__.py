"""NodeRestriction: a kubelet writes its own node, what belongs to it, and the pods that run there; nothing else."""

from tiphys.apiserver.admission.node_restriction.plugin import NodeRestriction

__all__ = ["NodeRestriction"]
