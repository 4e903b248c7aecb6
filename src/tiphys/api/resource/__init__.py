"""resource.k8s.io/v1: devices that pods ask for by what they can do (dynamic resource allocation)."""

from tiphys.api.kind import Kind
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceclaimtemplates import RESOURCECLAIMTEMPLATES
from tiphys.api.resource.resourceslices import RESOURCESLICES

KINDS: tuple[Kind, ...] = (DEVICECLASSES, RESOURCECLAIMS, RESOURCECLAIMTEMPLATES, RESOURCESLICES)
