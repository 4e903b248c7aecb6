"""The flags of a kubelet under upstream's names: a few of its own, and those that stand for a field of KubeletConfiguration.

A flag goes before the file of --config, and what neither gives is as upstream has it.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiphys.cmd.addresses import own_address
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import yes_or_no
from tiphys.kubelet import configuration
from tiphys.kubelet.configuration import checking
from tiphys.kubelet.node.facts import hostname
from tiphys.machinery import duration, feature_gates
from tiphys.machinery.tree import Obj


def _length(text: str) -> str:
    try:
        duration.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def _texts(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _mapping(between: str) -> Callable[[str], dict[str, str]]:
    def mapping(text: str) -> dict[str, str]:
        pairs = [each.partition(between) for each in _texts(text)]
        for name, found, _ in pairs:
            if not found:
                raise argparse.ArgumentTypeError(f"malformed pair, expect string{between}string, not {name!r}")
        return {name: value for name, _, value in pairs}

    return mapping


def _headers(text: str) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for each in _texts(text):
        name, found, value = each.partition(":")
        if not found:
            raise argparse.ArgumentTypeError(f"malformed pair, expect string:string, not {each!r}")
        made.setdefault(name.strip(), []).append(value.strip())
    return made


def _taints(text: str) -> list[dict[str, str]]:
    made = []
    for each in _texts(text):
        left, found, effect = each.rpartition(":")
        if not found:
            raise argparse.ArgumentTypeError(f"a taint is key=value:effect, not {each!r}")
        key, _, value = left.partition("=")
        made.append({"key": key, "effect": effect, **({"value": value} if value else {})})
    return made


def _gates(text: str) -> dict[str, bool]:
    try:
        return feature_gates.parse(text)
    except feature_gates.Unusable as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


@dataclass(frozen=True, slots=True)
class Flag:
    name: str
    path: str
    """Of the field."""
    kind: Callable[[str], Any]
    metavar: str
    help: str


_TOKENS, _RIGHTS = "authentication.webhook", "authorization.webhook"

FLAGS = (
    Flag("address", "address", str, "A", "to serve on (default: 0.0.0.0)"),
    Flag("port", "port", int, "N", "of its server; 0 takes a free one (default: 10250)"),
    Flag("read-only-port", "readOnlyPort", int, "N", "of a server that asks nobody who they are; 0: none (default: 0)"),
    Flag("healthz-port", "healthzPort", int, "N", "of /healthz; 0: none (default: 10248)"),
    Flag("healthz-bind-address", "healthzBindAddress", str, "A", "of /healthz (default: 127.0.0.1)"),
    Flag("enable-server", "enableServer", yes_or_no, "BOOL", "serve at all (default: true)"),
    Flag("enable-debugging-handlers", "enableDebuggingHandlers", yes_or_no, "BOOL", "serve exec and the like (default: true)"),
    Flag("anonymous-auth", "authentication.anonymous.enabled", yes_or_no, "BOOL", "take requests of nobody (default: false)"),
    Flag("authentication-token-webhook", f"{_TOKENS}.enabled", yes_or_no, "BOOL", "take tokens (default: true)"),
    Flag("authentication-token-webhook-cache-ttl", f"{_TOKENS}.cacheTTL", _length, "D", "(default: 2m0s)"),
    Flag("authorization-mode", "authorization.mode", str, "MODE", "Webhook or AlwaysAllow (default: Webhook)"),
    Flag(
        "authorization-webhook-cache-authorized-ttl",
        f"{_RIGHTS}.cacheAuthorizedTTL",
        _length,
        "D",
        "(default: 5m0s)",
    ),
    Flag(
        "authorization-webhook-cache-unauthorized-ttl",
        f"{_RIGHTS}.cacheUnauthorizedTTL",
        _length,
        "D",
        "(default: 30s)",
    ),
    Flag(
        "client-ca-file",
        "authentication.x509.clientCAFile",
        str,
        "F",
        "of clients (default: as in the kubeconfig)",
    ),
    Flag("tls-cert-file", "tlsCertFile", str, "F", "of its server (default: one that it signs itself)"),
    Flag("tls-private-key-file", "tlsPrivateKeyFile", str, "F", "the key of --tls-cert-file"),
    Flag("rotate-certificates", "rotateCertificates", yes_or_no, "BOOL", "renew its certificate by CSR (default: false)"),
    Flag("rotate-server-certificates", "serverTLSBootstrap", yes_or_no, "BOOL", "its server's too (default: false)"),
    Flag("cluster-dns", "clusterDNS", _texts, "A,...", "addresses of the cluster's DNS"),
    Flag("cluster-domain", "clusterDomain", str, "D", "(default: cluster.local)"),
    Flag("resolv-conf", "resolvConf", str, "F", "what pods inherit of the node (default: /etc/resolv.conf)"),
    Flag("max-pods", "maxPods", int, "N", "(default: 110)"),
    Flag("cgroup-driver", "cgroupDriver", str, "NAME", "cgroupfs (default: cgroupfs)"),
    Flag("cgroup-root", "cgroupRoot", str, "C", "the cgroup above the one of all pods (default: /)"),
    Flag("container-runtime-endpoint", "containerRuntimeEndpoint", str, "URL", "socket of the container runtime"),
    Flag("container-log-max-size", "containerLogMaxSize", str, "Q", "when a new file is begun (default: 10Mi)"),
    Flag("container-log-max-files", "containerLogMaxFiles", int, "N", "of one container (default: 5)"),
    Flag("pod-manifest-path", "staticPodPath", str, "PATH", "file or folder of static pods"),
    Flag("file-check-frequency", "fileCheckFrequency", _length, "D", "how often to look there (default: 20s)"),
    Flag("manifest-url", "staticPodURL", str, "URL", "of more static pods"),
    Flag("manifest-url-header", "staticPodURLHeader", _headers, "N:V,...", "headers of the request for --manifest-url"),
    Flag("http-check-frequency", "httpCheckFrequency", _length, "D", "how often to ask there (default: 20s)"),
    Flag("node-status-update-frequency", "nodeStatusUpdateFrequency", _length, "D", "how often to look (default: 10s)"),
    Flag("node-status-max-images", "nodeStatusMaxImages", int, "N", "at most in the node's status; -1: all (default: 50)"),
    Flag("register-node", "registerNode", yes_or_no, "BOOL", "make the Node object (default: true)"),
    Flag("register-with-taints", "registerWithTaints", _taints, "K=V:E,...", "taints of the Node"),
    Flag("provider-id", "providerID", str, "ID", "of the machine, with its provider"),
    Flag("system-reserved", "systemReserved", _mapping("="), "R=Q,...", "kept from pods for the system"),
    Flag("kube-reserved", "kubeReserved", _mapping("="), "R=Q,...", "kept from pods for the node's own programs"),
    Flag("eviction-hard", "evictionHard", _mapping("<"), "S<Q,...", "when pods have to go at once"),
    Flag("fail-swap-on", "failSwapOn", yes_or_no, "BOOL", "do not start where the machine swaps (default: true)"),
    Flag("fail-cgroupv1", "failCgroupV1", yes_or_no, "BOOL", "do not start on cgroups v1 (default: false)"),
    Flag(
        "feature-gates",
        "featureGates",
        _gates,
        "NAME=BOOL,...",
        f"v1.36's feature gates; here {', '.join(sorted(feature_gates.PAGES))} change something, and of others it is said that "
        "they do not",
    ),
    Flag("allowed-unsafe-sysctls", "allowedUnsafeSysctls", _texts, "S,...", "sysctls that pods may set"),
)


def add(parser: argparse.ArgumentParser) -> None:
    """What a kubelet takes wherever its containers come from."""
    add = parser.add_argument
    add("--kubeconfig", type=Path, metavar="F", required=True, help="how to reach the API server")
    add(
        "--bootstrap-kubeconfig",
        type=Path,
        metavar="F",
        help="of a bootstrap token, with which a certificate is asked for where that of --kubeconfig is missing or over",
    )
    add("--config", type=Path, metavar="F", help="a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)")
    add("--cert-dir", type=Path, metavar="DIR", help="where certificates that it got are kept (default: pki in its folder)")
    add("--hostname-override", default=hostname(), metavar="NAME", help="name of the Node (default: %(default)s)")
    add("--node-ip", default=own_address(), metavar="A,...", help="addresses of the node (default: %(default)s)")
    add("--node-labels", type=_mapping("="), default={}, metavar="K=V,...", help="labels of the Node")
    add("-v", "--verbosity", type=int, default=0, metavar="N", help="how much to log")
    fields = parser.add_argument_group("fields of KubeletConfiguration").add_argument
    for flag in FLAGS:
        short: dict[str, Any] = {"nargs": "?", "const": True} if flag.kind is yes_or_no else {}
        fields(f"--{flag.name}", type=flag.kind, dest=flag.path, default=None, metavar=flag.metavar, help=flag.help, **short)


def told(given: argparse.Namespace, usual: Obj) -> Obj:
    """What file and flags say, over what is usual where this kubelet runs. Raises Unusable."""
    try:
        file = configuration.read(given.config.read_bytes()) if given.config is not None else {}
    except (OSError, configuration.BadConfiguration) as problem:
        raise Unusable(f"failed to load kubelet config file, path: {given.config}, error: {problem}") from None
    flags: Obj = {}
    for flag in FLAGS:
        value = getattr(given, flag.path)
        if value is not None:
            _put(flags, flag.path.split("."), value)
    if "featureGates" in flags:
        flags["featureGates"] = {**(file.get("featureGates") or {}), **flags["featureGates"]}
    return configuration.merged(configuration.merged(usual, file), flags)


def whole(given: argparse.Namespace, said: Obj) -> Obj:
    """The whole configuration. Raises Unusable for what cannot be."""
    settings = configuration.with_defaults(said)
    if given.port == 0:
        settings["port"] = 0
    if wrong := checking.problems(settings):
        raise Unusable("; ".join(wrong))
    return settings


def _put(tree: Obj, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
