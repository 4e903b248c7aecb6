"""CertificateApproval: who approves a certificate request must be allowed to do so for its signer."""

from tiphys.apiserver.admission.certificates import REQUESTS, may
from tiphys.apiserver.admission.chain import UPDATE, Attributes
from tiphys.apiserver.authz.attributes import Authorizer


class CertificateApproval:
    name = "CertificateApproval"
    operations = UPDATE
    resources = REQUESTS

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "approval" or attributes.old is None:
            return
        signer = attributes.old["spec"].get("signerName", "")
        if not await may(self._authorizer, attributes.user, "approve", signer):
            raise attributes.forbidden(f'user not permitted to approve requests with signerName "{signer}"')
