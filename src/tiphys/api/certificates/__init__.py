"""certificates.k8s.io/v1: certificates on request."""

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (CERTIFICATE_SIGNING_REQUESTS,)
