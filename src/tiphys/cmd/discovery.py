"""Who a cluster is, found out by somebody who knows a token: its address and authority, believed only if both check out.

What is read at first comes over a connection that trusts nobody. The token's signature says that it comes from somebody who
knows the token; the hash of the authority's key, that it was not somebody else who knows it too. Then it is read again, with
that authority, and has to be the same (cmd/kubeadm/app/discovery/token/token.go).
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Collection

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tiphys.api.bootstrap_tokens import CLUSTER_INFO, CLUSTER_INFO_NAMESPACE, KUBECONFIG_KEY, SIGNATURE_PREFIX, TOKEN
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.base.clock import Clock
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd.data_directory import Unusable
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

PATIENCE = 60.0
"""For a server that does not answer yet, or has not signed for a token that is new."""
_PAUSE = 1.0


class Doubtful(Unusable):
    """What came cannot be believed; trying again will not help."""


def key_hash(authority: bytes) -> str:
    """Of a certificate's public key, as kubeadm pins it."""
    return _hash(x509.load_pem_x509_certificate(authority))


def _hash(certificate: x509.Certificate) -> str:
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(key).hexdigest()}"


def believed(cluster_info: Obj, token: str, hashes: Collection[str]) -> Access:
    """`hashes`: of keys, any of which may be the authority's; none at all: any authority. Raises Unusable."""
    token_id, token_secret = _parts(token)
    data = cluster_info.get("data") or {}
    content, signed = data.get(KUBECONFIG_KEY, ""), data.get(SIGNATURE_PREFIX + token_id)
    if signed is None:
        raise Unusable(f'there is no JWS signed token in the cluster-info ConfigMap for the token ID "{token_id}"')
    if not _signed(content, signed, token_secret):
        raise Doubtful("failed to verify JWS signature of received cluster info object, can't trust this API Server")
    try:
        cluster = yaml.safe_load(content)["clusters"][0]["cluster"]
        found = Access(cluster["server"], base64.b64decode(cluster["certificate-authority-data"]))
        certificates = x509.load_pem_x509_certificates(found.authority)
    except (yaml.YAMLError, LookupError, TypeError, ValueError, binascii.Error) as problem:
        raise Doubtful(f"the cluster-info ConfigMap makes no sense: {problem}") from None
    known = {_hash(each) for each in certificates}
    if hashes and not known & {each.lower() for each in hashes}:
        told = f"none of the public keys {', '.join(sorted(known))} are pinned"
        raise Doubtful(f"cluster CA found in cluster-info ConfigMap is invalid: {told}")
    return found


def _parts(token: str) -> tuple[str, str]:
    found = TOKEN.fullmatch(token)
    if found is None:
        raise Doubtful(f'the bootstrap token "{token}" was not of the form "{TOKEN.pattern}"')
    return found[1], found[2]


def _signed(content: str, signature: str, secret: str) -> bool:
    header, _, rest = signature.partition(".")
    body = base64.urlsafe_b64encode(content.encode()).rstrip(b"=").decode()
    wanted = hmac.digest(secret.encode(), f"{header}.{body}".encode(), hashlib.sha256)
    return hmac.compare_digest(base64.urlsafe_b64encode(wanted).rstrip(b"=").decode(), rest.lstrip("."))


async def discover(
    address: str, token: str, hashes: Collection[str], clock: Clock, waits: Callable[[str], None] = lambda _: None
) -> Access:
    """`address`: host and port; `waits`: is told for what, once for each reason. Raises Unusable."""
    until, told = clock.monotonic() + PATIENCE, ""
    while True:
        try:
            first = await _read(Access(f"https://{address}", insecure=True))
            found = believed(first, token, hashes)
            again = await _read(Access(f"https://{address}", found.authority))
        except Doubtful:
            raise
        except (Unusable, ApiError, ConnectionError, TimeoutError) as problem:
            if clock.monotonic() > until:
                raise Unusable(f"couldn't find out who the cluster at {address} is: {problem}") from None
            if str(problem) != told:
                told = str(problem)
                waits(told)
            await clock.sleep(_PAUSE)
            continue
        if (again.get("data") or {}).get(KUBECONFIG_KEY) != first["data"][KUBECONFIG_KEY]:
            raise Doubtful("second kubeconfig from the cluster failed validation, can't trust this API Server")
        return found


async def _read(access: Access) -> Obj:
    client = RestClient(access, user_agent="tiphys-join")
    try:
        return await client.get(CONFIG_MAPS, CLUSTER_INFO, CLUSTER_INFO_NAMESPACE)
    finally:
        await client.closed()
