"""What a CertificateSigningRequest asks for, what was decided about it, and what each of Kubernetes' own signers demands."""

import base64
import binascii
from collections.abc import Callable, Iterable

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtensionOID, NameOID

from tiphys.api.certificates.pem import blocks
from tiphys.machinery.tree import Obj, get

KUBELET_SERVING = "kubernetes.io/kubelet-serving"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
API_CLIENT = "kubernetes.io/kube-apiserver-client"
LEGACY = "kubernetes.io/legacy-unknown"

_NODES = ["system:nodes"]
_NODE_PREFIX = "system:node:"
_CLIENT_USAGES = ("client auth", "digital signature", "key encipherment")
_SERVING_USAGES = ("digital signature", "key encipherment", "server auth")


class Unreadable(ValueError):
    """The request holds no certificate request."""


def parse(csr: Obj) -> x509.CertificateSigningRequest:
    try:
        pem = base64.b64decode(get(csr, ("spec", "request"), ""))
    except binascii.Error as error:
        raise Unreadable(str(error)) from None
    first = next(blocks(pem), None)
    if first is None or first[0] != "CERTIFICATE REQUEST":
        raise Unreadable("PEM block type must be CERTIFICATE REQUEST")
    try:
        return x509.load_der_x509_csr(first[2])
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Unreadable(str(error)) from None


def has(csr: Obj, condition: str) -> bool:
    """Approvals and denials are never False; a failure without a status counts, too."""
    listed = get(csr, ("status", "conditions")) or ()
    return any(each.get("type") == condition and each.get("status") in ("True", "", None) for each in listed)


def is_issued(csr: Obj) -> bool:
    return bool(get(csr, ("status", "certificate")))


def common_name(asked: x509.CertificateSigningRequest) -> str:
    """The last one, as Go reads a subject."""
    found = asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[-1].value) if found else ""


def alternatives(asked: x509.CertificateSigningRequest) -> tuple[x509.GeneralName, ...]:
    try:
        return tuple(asked.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value)  # type: ignore[arg-type]
    except x509.ExtensionNotFound:
        return ()


def client_kubelet_problem(asked: x509.CertificateSigningRequest, usages: Iterable[str]) -> str:
    """Why it is no request of a kubelet for its client certificate; empty if it is one."""
    if _organizations(asked) != _NODES:
        return "subject organization is not system:nodes"
    names = alternatives(asked)
    for kind, told in _NAMES:
        if any(isinstance(each, kind) for each in names):
            return f"{told} subjectAltNames are not allowed"
    return _node_problem(asked, usages, _CLIENT_USAGES, name_first=True)


def serving_kubelet_problem(asked: x509.CertificateSigningRequest, usages: Iterable[str]) -> str:
    if _organizations(asked) != _NODES:
        return "subject organization is not system:nodes"
    names = alternatives(asked)
    if not any(isinstance(each, x509.DNSName | x509.IPAddress) for each in names):
        return "DNS or IP subjectAltName is required"
    for kind, told in ((x509.RFC822Name, "Email"), (x509.UniformResourceIdentifier, "URI")):
        if any(isinstance(each, kind) for each in names):
            return f"{told} subjectAltNames are not allowed"
    return _node_problem(asked, usages, _SERVING_USAGES, name_first=False)


_NAMES = (
    (x509.DNSName, "DNS"),
    (x509.RFC822Name, "Email"),
    (x509.IPAddress, "IP"),
    (x509.UniformResourceIdentifier, "URI"),
)


def _node_problem(
    asked: x509.CertificateSigningRequest, usages: Iterable[str], wanted: tuple[str, ...], *, name_first: bool
) -> str:
    """`key encipherment` is of use with RSA keys only, so it may be left out."""
    given = set(usages)
    of_name = "" if common_name(asked).startswith(_NODE_PREFIX) else "subject common name does not begin with system:node:"
    fits = given in (set(wanted), set(wanted) - {"key encipherment"})
    of_usages = "" if fits else f"usages did not match [{' '.join(wanted)}]"
    return (of_name or of_usages) if name_first else (of_usages or of_name)


def api_client_problem(_: x509.CertificateSigningRequest, usages: Iterable[str]) -> str:
    given = list(usages)
    for usage in given:
        if usage not in _CLIENT_USAGES:
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in given else "missing required usage for client certificate: client auth"


def _anything_goes(_: x509.CertificateSigningRequest, __: Iterable[str]) -> str:
    return ""


def _organizations(asked: x509.CertificateSigningRequest) -> list[str]:
    return [str(each.value) for each in asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


Demand = Callable[[x509.CertificateSigningRequest, Iterable[str]], str]

SIGNERS: dict[str, Demand] = {
    KUBELET_SERVING: serving_kubelet_problem,
    KUBELET_CLIENT: client_kubelet_problem,
    API_CLIENT: api_client_problem,
    LEGACY: _anything_goes,
}
"""By signer name: what is wrong with a request and its usages; empty if nothing is."""
