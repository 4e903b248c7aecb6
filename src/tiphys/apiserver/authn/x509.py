"""Client certificates: the common name is the user, the organizations are the groups."""

from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.trust import Trust, check_client_use, validity
from tiphys.apiserver.authn.user import CREDENTIAL_ID, User
from tiphys.base.http.messages import Request

# Registered for Kubernetes: the user's uid within the subject.
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")

_MEMO = "x509 user"


@dataclass(frozen=True, slots=True)
class _Known:
    """What one certificate means, worked out once a connection; only the time is asked again at each request."""

    trust: Trust | None
    """Of whoever worked it out: with other authorities it has to be done again."""
    outcome: Authenticated | None
    not_before: float = 0.0
    not_after: float = 0.0
    problem: str = ""


class CertificateAuthenticator:
    """`trust`: the client authorities, which may be replaced; without one, whatever the TLS layer accepted is a client's."""

    def __init__(self, trust: Trust | None = None) -> None:
        self.trust = trust

    def authenticate(self, request: Request, now: float) -> Authenticated | None:
        peer = request.peer
        if peer.certificate is None:
            return None
        known = peer.memo.get(_MEMO)
        if known is None or known.trust is not self.trust:
            known = peer.memo[_MEMO] = self._know(peer.certificate)
        if known.problem:
            raise Refused(known.problem)
        if known.outcome is not None and not known.not_before <= now <= known.not_after:
            raise Refused("x509: certificate has expired or is not yet valid")
        outcome: Authenticated | None = known.outcome
        return outcome

    def _know(self, der: bytes) -> _Known:
        try:
            certificate = x509.load_der_x509_certificate(der)
            if self.trust is not None and not self.trust.issued(certificate):
                return _Known(self.trust, None, problem="x509: certificate signed by unknown authority")
            check_client_use(certificate)
            user = user_of(certificate)
        except (ValueError, Refused) as error:
            return _Known(self.trust, None, problem=str(error))
        return _Known(self.trust, None if user is None else Authenticated(user), *validity(certificate))


def user_of(certificate: x509.Certificate) -> User | None:
    """None for one without a common name. Raises Refused for a uid that cannot be read."""
    subject = certificate.subject
    names = [str(each.value) for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not names or not names[-1]:
        return None
    groups = tuple(str(each.value) for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    uids = [str(each.value) for each in subject.get_attributes_for_oid(UID)]
    if len(uids) > 1:
        raise Refused(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        raise Refused("UID cannot be an empty string")
    fingerprint = f"X509SHA256={certificate.fingerprint(hashes.SHA256()).hex()}"
    return User(names[-1], groups, uids[0] if uids else "", ((CREDENTIAL_ID, (fingerprint,)),))
