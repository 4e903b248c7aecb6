"""metrics.k8s.io: what nodes and pods use, as their kubelets say. Not among the built-in kinds of upstream's server, where an
extension (metrics-server) serves it; here the API server asks the kubelets itself."""

from tiphys.api.metrics.definitions import DEFINITIONS
from tiphys.api.metrics.nodes import NODE_METRICS
from tiphys.api.metrics.pods import POD_METRICS

__all__ = ["DEFINITIONS", "KINDS", "NODE_METRICS", "POD_METRICS"]

KINDS = (NODE_METRICS, POD_METRICS)
