"""discovery.k8s.io: where the traffic of a Service goes."""

from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (ENDPOINT_SLICES,)
