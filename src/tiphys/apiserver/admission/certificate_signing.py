"""CertificateSigning: who fills in a certificate must be allowed to sign for the request's signer."""

from tiphys.apiserver.admission.certificates import REQUESTS, may
from tiphys.apiserver.admission.chain import UPDATE, Attributes
from tiphys.apiserver.authz.attributes import Authorizer


class CertificateSigning:
    name = "CertificateSigning"
    operations = UPDATE
    resources = REQUESTS

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.obj, attributes.old
        if attributes.subresource != "status" or new is None or old is None:
            return
        now, was = new.get("status") or {}, old.get("status") or {}
        if all((now.get(part) or None) == (was.get(part) or None) for part in ("certificate", "conditions")):
            return
        signer = old["spec"].get("signerName", "")
        if not await may(self._authorizer, attributes.user, "sign", signer):
            raise attributes.forbidden(f'user not permitted to sign requests with signerName "{signer}"')
