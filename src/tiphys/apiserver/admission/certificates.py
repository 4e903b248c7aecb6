"""What the plugins about certificate requests share: may somebody act for a signer, and what does a request say."""

import base64
import binascii

from cryptography import x509

from tiphys.apiserver.admission.chain import Resources
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes, Authorizer

GROUP = "certificates.k8s.io"
REQUESTS: Resources = frozenset(((GROUP, "certificatesigningrequests"),))


async def may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """By the name of the signer, or by `domain/*`."""
    names = (signer, signer.partition("/")[0] + "/*")
    for name in names:
        decision = await authorizer.authorize(Attributes(user, verb, GROUP, "*", "signers", name=name))
        if decision.allowed:
            return True
    return False


def parsed(request: str) -> x509.CertificateSigningRequest:
    """`spec.request`, which is the base64 of PEM. Raises ValueError."""
    try:
        return x509.load_pem_x509_csr(base64.b64decode(request, validate=True))
    except binascii.Error as problem:
        raise ValueError(str(problem)) from None
