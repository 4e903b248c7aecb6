"""apiregistration.k8s.io/v1: which server answers for which group and version."""

from tiphys.api.apiregistration.apiservices import API_SERVICES
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (API_SERVICES,)
