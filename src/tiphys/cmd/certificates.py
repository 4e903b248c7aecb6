"""The certificates and keys of a cluster, made once and kept in DIR/pki."""

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.tls import Pair, Subject, Usage
from tiphys.cmd.data_directory import Unusable

_SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
RENEW_BEFORE = 30 * 86400.0
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate that an authority of the cluster issues, and that can be issued again at any time."""

    name: str
    authority: str
    subject: Subject
    usage: Usage


SERVING = Leaf("apiserver", "ca", Subject("kube-apiserver"), "server")
ADMIN = Leaf("admin", "ca", Subject("kubernetes-admin", (MASTERS,)), "client")
FRONT_PROXY = Leaf("front-proxy", "front-proxy-ca", Subject("front-proxy-client"), "client")
KUBELET_CLIENT = Leaf("apiserver-kubelet-client", "ca", Subject("kube-apiserver-kubelet-client", (MASTERS,)), "client")
LEAVES = (SERVING, ADMIN, FRONT_PROXY, KUBELET_CLIENT)
AUTHORITIES = {"ca": "tiphys", "front-proxy-ca": "tiphys-front-proxy"}
"""Their files, and their common names."""


@dataclass(frozen=True, slots=True)
class Certificates:
    authority: Pair
    serving: Pair
    admin: Pair
    front_proxy: Pair
    front_proxy_authority: bytes
    kubelet_client: Pair
    signing_key: bytes
    """Of service account tokens, PEM."""


def files(pki: Path, name: str) -> tuple[Path, Path]:
    """Of the certificate and of its key."""
    return pki / f"{name}.crt", pki / f"{name}.key"


def ensure(pki: Path, addresses: list[str], clock: Clock) -> Certificates:
    """Load what is there and make what is missing, runs out soon, or does not name an address the server listens on.

    Raises Unusable for files that cannot be read, written or understood: a new authority in the place of a damaged one would
    shut out everybody who trusts the old one."""
    try:
        return _ensure(pki, addresses, clock.now())
    except OSError as problem:
        raise Unusable(f"cannot use {problem.filename or pki}: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise Unusable(f"the certificates in {pki} are damaged: {problem}; restore them or choose another directory") from None


def renew(pki: Path, names: Iterable[str], clock: Clock) -> list[Leaf]:
    """Issue these anew, whatever their end, for the hosts that they name now; of an empty list, all. Raises Unusable."""
    wanted = set(names)
    known = {leaf.name for leaf in LEAVES}
    if unknown := wanted - known:
        raise Unusable(f"there is no certificate {', '.join(sorted(unknown))} to renew; there are {', '.join(sorted(known))}")
    chosen = [leaf for leaf in LEAVES if not wanted or leaf.name in wanted]
    now = clock.now()
    try:
        for leaf in chosen:
            authority = tls.load(*files(pki, leaf.authority))
            _saved(pki, leaf.name, tls.issue(authority, leaf.subject, [leaf.usage], now=now, names=_names(pki, leaf.name)))
    except OSError as problem:
        raise Unusable(f"cannot use {problem.filename or pki}: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise Unusable(f"the certificates in {pki} are damaged: {problem}") from None
    return chosen


def issue_client(pki: Path, subject: Subject, seconds: float, clock: Clock) -> Pair:
    """A certificate of the cluster's authority for some user, which is kept nowhere. Raises Unusable."""
    try:
        authority = tls.load(*files(pki, "ca"))
        return tls.issue(authority, subject, ["client"], now=clock.now(), days=max(1, round(seconds / 86400)))
    except OSError as problem:
        raise Unusable(f"cannot use {problem.filename or pki}: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise Unusable(f"the authority in {pki} is damaged: {problem}") from None


def kept(pki: Path) -> Iterator[Path]:
    """The files of all certificates there, authorities first."""
    listed = [*AUTHORITIES, *(leaf.name for leaf in LEAVES)]
    found = {path.stem: path for path in sorted(pki.glob("*.crt"))}
    yield from (found.pop(name) for name in listed if name in found)
    yield from found.values()


def _ensure(pki: Path, addresses: Sequence[str], now: float) -> Certificates:
    pki.mkdir(exist_ok=True, mode=0o700)
    authorities = {
        name: _kept_authority(pki, name) or _saved(pki, name, tls.make_authority(called, now=now))
        for name, called in AUTHORITIES.items()
    }
    hosts = sorted({*_SERVICE_NAMES, "localhost", "127.0.0.1", "::1", socket.gethostname(), *addresses})
    issued = {leaf.name: _issued(pki, leaf, authorities, hosts if leaf is SERVING else [], now) for leaf in LEAVES}
    key_file = pki / "service-account.key"
    if not key_file.exists():
        tls.write_private(key_file, tls.make_signing_key("ES256"))
    signing_key = key_file.read_bytes()
    tls.load_private_key(signing_key)
    return Certificates(
        authority=authorities["ca"],
        serving=issued[SERVING.name],
        admin=issued[ADMIN.name],
        front_proxy=issued[FRONT_PROXY.name],
        front_proxy_authority=authorities["front-proxy-ca"].certificate,
        kubelet_client=issued[KUBELET_CLIENT.name],
        signing_key=signing_key,
    )


def _issued(pki: Path, leaf: Leaf, authorities: dict[str, Pair], hosts: list[str], now: float) -> Pair:
    found = _kept(pki, leaf.name)
    if found is not None and _is_good(found, authorities[leaf.authority], now) and _names(pki, leaf.name) == hosts:
        return found
    (pki / f"{leaf.name}.names").write_text("\n".join(hosts))
    return _saved(pki, leaf.name, tls.issue(authorities[leaf.authority], leaf.subject, [leaf.usage], now=now, names=hosts))


def _is_good(pair: Pair, authority: Pair, now: float) -> bool:
    is_signed = tls.issued_by(tls.der_of(pair.certificate), authority.certificate)
    return is_signed and tls.expires_at(pair.certificate) - now > RENEW_BEFORE


def _names(pki: Path, name: str) -> list[str]:
    file = pki / f"{name}.names"
    return file.read_text().splitlines() if file.exists() else []


def _kept_authority(pki: Path, name: str) -> Pair | None:
    present = [each.exists() for each in files(pki, name)]
    if any(present) and not all(present):
        missing = files(pki, name)[present.index(False)]
        raise ValueError(f"{missing.name} is missing")
    return _kept(pki, name)


def _kept(pki: Path, name: str) -> Pair | None:
    certificate, key = files(pki, name)
    if not certificate.exists() or not key.exists():
        return None
    pair = tls.load(certificate, key)
    if not tls.belongs(pair):
        raise ValueError(f"{key.name} is not the key of {certificate.name}")
    return pair


def _saved(pki: Path, name: str, pair: Pair) -> Pair:
    tls.save(pair, *files(pki, name))
    return pair
