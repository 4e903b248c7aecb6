"""apiextensions.k8s.io/v1: kinds that users bring along."""

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (CUSTOM_RESOURCE_DEFINITIONS,)
