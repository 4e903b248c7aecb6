"""The flags of `tiphys apiserver` about kubelets: how they are found, and what each side shows the other."""

import argparse
from pathlib import Path

from tiphys.apiserver.authn.trust import Trust
from tiphys.apiserver.subresources.remote import KubeletSettings
from tiphys.apiserver.subresources.remote.places import ADDRESS_TYPES
from tiphys.base import tls
from tiphys.base.tls import Pair
from tiphys.cmd.data_directory import Unusable


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("kubelets").add_argument
    add("--kubelet-certificate-authority", type=Path, metavar="F", help="of kubelets' certificates (default: any are taken)")
    add("--kubelet-client-certificate", type=Path, metavar="F", help="what kubelets are shown")
    add("--node-metrics", action="store_true", help="serve metrics.k8s.io by asking kubelets, as metrics-server would")
    add("--kubelet-client-key", type=Path, metavar="F", help="its key")
    add(
        "--kubelet-preferred-address-types",
        default=",".join(ADDRESS_TYPES),
        metavar="TYPES",
        help="of a node's addresses, the best first (default: %(default)s)",
    )


def settings(given: argparse.Namespace, made: Pair | None) -> KubeletSettings:
    """`made`: the certificate of the data directory, for where no flag names one. Raises Unusable."""
    certificate, key = given.kubelet_client_certificate, given.kubelet_client_key
    if (certificate is None) != (key is None):
        raise Unusable("--kubelet-client-certificate and --kubelet-client-key go together")
    types = tuple(each.strip() for each in given.kubelet_preferred_address_types.split(",") if each.strip())
    for each in types:
        if each not in ADDRESS_TYPES:
            raise Unusable(f"--kubelet-preferred-address-types knows {', '.join(ADDRESS_TYPES)}, not {each!r}")
    authority: Path | None = given.kubelet_certificate_authority
    try:
        client = made if certificate is None else tls.load(certificate, key)
        trusted = authority.read_bytes() if authority is not None else b""
        if trusted:
            Trust.from_pem(trusted)
    except OSError as problem:
        raise Unusable(f"cannot read {problem.filename}: {problem.strerror}") from None
    except ValueError as problem:
        raise Unusable(f"cannot use {authority}: {problem}") from None
    if client is not None and certificate is not None and not tls.belongs(client):
        raise Unusable(f"{key} is not the key of {certificate}")
    return KubeletSettings(client, trusted, types or ADDRESS_TYPES)
