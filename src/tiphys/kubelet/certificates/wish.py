"""Which certificate a kubelet wants, when a new one is due, and what became of a request for one.

https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.base.tls import Subject
from tiphys.base.tls_requests import Said
from tiphys.machinery.tree import Obj

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"


@dataclass(frozen=True, slots=True)
class Wish:
    signer: str
    subject: Subject
    usages: tuple[str, ...]
    names: tuple[str, ...] = ()


def client(node: str) -> Wish:
    return Wish(CLIENT_SIGNER, _subject(node), ("digital signature", "client auth"))


def serving(node: str, names: Sequence[str]) -> Wish:
    return Wish(SERVING_SIGNER, _subject(node), ("digital signature", "server auth"), tuple(sorted(set(names))))


def _subject(node: str) -> Subject:
    return Subject(f"system:node:{node}", ("system:nodes",))


def request_object(wish: Wish, request: bytes, name: str = "") -> Obj:
    """The CertificateSigningRequest; without a name the API server makes one."""
    named = {"name": name} if name else {"generateName": "csr-"}
    spec = {"request": b64encode(request).decode(), "signerName": wish.signer, "usages": list(wish.usages)}
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": named, "spec": spec}


def serves(said: Said, wish: Wish) -> bool:
    """Whether this certificate is what is wanted; that it says more is no harm."""
    same = said.subject.common_name == wish.subject.common_name
    return same and set(wish.subject.organizations) <= set(said.subject.organizations) and set(wish.names) <= said.names


def due(said: Said, chance: float) -> float:
    """When to ask for the next: after 70 to 90 % of its life, so that nodes made together do not all ask at once."""
    return said.begins + (said.ends - said.begins) * (0.7 + 0.2 * chance)


class Rejected(Exception):
    """A sentence: the request was denied, or its signer could not do it."""


def outcome(request: Obj) -> bytes | None:
    """The certificate, or None while there is none. Raises Rejected."""
    status = request.get("status") or {}
    name = request["metadata"]["name"]
    for each in status.get("conditions") or ():
        if each["type"] in ("Denied", "Failed"):
            word = "denied" if each["type"] == "Denied" else "failed"
            told = f"reason: {each.get('reason', '')}, message: {each.get('message', '')}"
            raise Rejected(f"certificate signing request {name} is {word}, {told}")
    approved = any(each["type"] == "Approved" for each in status.get("conditions") or ())
    return b64decode(status["certificate"]) if approved and status.get("certificate") else None
