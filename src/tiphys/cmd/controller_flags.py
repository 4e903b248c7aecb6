"""The flags of `tiphys controller-manager`, under upstream's names, and the settings that they come to."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509

from tiphys.api import ip
from tiphys.apiserver.authn import service_account, signing_keys
from tiphys.base import tls
from tiphys.base.tls import Pair
from tiphys.cmd import controller_tuning
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Switch
from tiphys.cmd.token_command import duration
from tiphys.cmd.watched_files import WatchedFiles
from tiphys.controllers import node_ipam
from tiphys.controllers.account_tokens import Issue
from tiphys.controllers.certificates import Authority
from tiphys.controllers.certificates.requests import API_CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY
from tiphys.controllers.certificates.signing import YEAR
from tiphys.controllers.registry import Settings

_OWN_FLAGS = {
    KUBELET_SERVING: "kubelet-serving",
    KUBELET_CLIENT: "kubelet-client",
    API_CLIENT: "kube-apiserver-client",
    LEGACY: "legacy-unknown",
}
"""By signer name: the middle of the flags that give this signer an authority of its own."""


def add_to(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--bind-address", default="127.0.0.1", metavar="A", help="of the port for health (default: %(default)s)")
    add(
        "--secure-port",
        type=int,
        default=10257,
        metavar="PORT",
        help="HTTPS: /healthz, /livez, /readyz; for this machine also /metrics, /statusz, /flagz, /explain/controllers; "
        "0: none (default: 10257)",
    )
    add("--tls-cert-file", type=Path, metavar="F", help="certificate of that port (default: one that nobody vouches for)")
    add("--tls-private-key-file", type=Path, metavar="F", help="its key")
    add("--root-ca-file", type=Path, metavar="F", help="published in every namespace (default: that of the kubeconfig)")
    add("--cluster-signing-cert-file", type=Path, metavar="F", help="the authority that signs certificate requests")
    add("--cluster-signing-key-file", type=Path, metavar="F", help="its key; without one, requests are not signed")
    for signer, flag in _OWN_FLAGS.items():
        for what in ("cert", "key"):
            help_text = f"of the authority of {signer} alone; then the others need their own, too"
            add(f"--cluster-signing-{flag}-{what}-file", type=Path, metavar="F", help=help_text)
    add(
        "--cluster-signing-duration",
        type=duration,
        default=YEAR,
        metavar="D",
        help="how long signed certificates live at most (default: 8760h0m0s)",
    )
    add(
        "--allocate-node-cidrs",
        action=Switch,
        default=False,
        help="give each node its part of --cluster-cidr (default: %(default)s)",
    )
    add("--cluster-cidr", default="", metavar="CIDR[,CIDR]", help="addresses of pods: one range, or one of each family")
    add("--service-cluster-ip-range", default="", metavar="CIDR[,CIDR]", help="addresses of Services, which nodes never get")
    add("--node-cidr-mask-size", type=int, default=0, metavar="N", help="a node's part (default: 24 for IPv4, 64 for IPv6)")
    add("--node-cidr-mask-size-ipv4", type=int, default=0, metavar="N", help="the same where there are two families")
    add("--node-cidr-mask-size-ipv6", type=int, default=0, metavar="N", help="the same where there are two families")
    controller_tuning.add_to(parser)


def legacy_token(signing_key: bytes) -> Issue:
    """How tokens in Secrets are signed. Raises ValueError for what is no such key."""
    key = signing_keys.load_signing_key(signing_key)
    return service_account.Issuer(service_account.LEGACY_ISSUER, key).issue_legacy


@dataclass(slots=True)
class Given:
    settings: Settings
    watched: list[WatchedFiles] = field(default_factory=list)
    """Whose content is taken again when it changes."""


def settings(given: argparse.Namespace, root_ca: bytes) -> Given:
    """Raises Unusable."""
    if (given.tls_cert_file is None) != (given.tls_private_key_file is None):
        raise Unusable("--tls-cert-file and --tls-private-key-file go together")
    authorities: dict[str, Authority] = {}
    watched = []
    for signers, certificate, key in _files(given):

        def take(content: Sequence[bytes], signers: tuple[str, ...] = signers) -> None:
            authority = Authority.of(Pair(*content))
            authorities.update(dict.fromkeys(signers, authority))

        try:
            pair = tls.load(certificate, key)
            take([pair.certificate, pair.key])
        except (OSError, ValueError) as problem:
            raise Unusable(f"error reading CA cert file {certificate}: {problem}") from None
        watched.append(WatchedFiles((certificate, key), take))
    try:
        workers, key = controller_tuning.workers(given), given.service_account_private_key_file
        account_token = legacy_token(key.read_bytes()) if key else None
    except (OSError, ValueError) as problem:
        raise Unusable(str(problem)) from None
    return Given(
        Settings(
            root_ca=root_ca.decode(),
            pod_ranges=_pod_ranges(given),
            service_ranges=_networks(given.service_cluster_ip_range),
            signing=authorities,
            signing_duration=given.cluster_signing_duration,
            serial=x509.random_serial_number,
            account_token=account_token,
            unused_tokens_stay=given.legacy_service_account_token_clean_up_period,
            finished_pods_kept=given.terminated_pod_gc_threshold,
            collect_garbage=given.enable_garbage_collector,
            workers=workers,
            nodes=controller_tuning.nodes(given),
            autoscaler=controller_tuning.autoscaler(given),
        ),
        watched,
    )


def _files(given: argparse.Namespace) -> Iterator[tuple[tuple[str, ...], Path, Path]]:
    """Signer names, and the certificate and the key that are theirs."""
    flags = vars(given)
    own = {
        signer: (
            flags[f"cluster_signing_{flag}_cert_file".replace("-", "_")],
            flags[f"cluster_signing_{flag}_key_file".replace("-", "_")],
        )
        for signer, flag in _OWN_FLAGS.items()
    }
    specific = {signer: files for signer, files in own.items() if any(files)}
    common = (given.cluster_signing_cert_file, given.cluster_signing_key_file)
    if specific and all(common):
        raise Unusable("cannot specify default and per controller certs at the same time")
    for signer, (certificate, key) in specific.items():
        if certificate is None or key is None:
            raise Unusable(f"the authority of {signer} needs both a certificate and a key")
        yield (signer,), certificate, key
    if all(common) and not specific:
        yield tuple(_OWN_FLAGS), *common


def _pod_ranges(given: argparse.Namespace) -> tuple[node_ipam.Range, ...]:
    if not given.allocate_node_cidrs:
        return ()
    if not given.cluster_cidr:
        raise Unusable("Must specify --cluster-cidr if --allocate-node-cidrs is set")
    sizes = (given.node_cidr_mask_size, given.node_cidr_mask_size_ipv4, given.node_cidr_mask_size_ipv6)
    try:
        return node_ipam.ranges(given.cluster_cidr, *sizes)
    except ValueError as problem:
        raise Unusable(str(problem)) from None


def _networks(listed: str) -> tuple[ip.Network, ...]:
    found = [ip.parse_cidr(each.strip()) for each in listed.split(",") if each.strip()]
    return tuple(each.network for each in found if each is not None)
