"""KubeProxyConfiguration, the file of --config: its fields become what the flags of the same meaning would be.

Flags that mean the same are ignored beside a file, as upstream does; only --hostname-override wins over it.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tiphys.cmd.data_directory import Unusable
from tiphys.machinery import duration

GROUP = "kubeproxy.config.k8s.io/v1alpha1"
KIND = "KubeProxyConfiguration"

Read = Callable[[Any], Any]


def seconds(text: Any) -> float:
    return duration.seconds(str(text))


def _listed(value: Any) -> str:
    return ",".join(value or ())


def _gates(value: Any) -> dict[str, bool]:
    found = dict(value)
    for name, on in found.items():
        if not isinstance(on, bool):
            raise ValueError(f"featureGates.{name} is neither true nor false")
    return found


_SYNC = {"syncPeriod": ("sync_period", seconds), "minSyncPeriod": ("min_sync_period", seconds)}

FIELDS: Mapping[str, tuple[str, Read] | Mapping[str, tuple[str, Read]]] = {
    "mode": ("proxy_mode", str),
    "hostnameOverride": ("hostname_override", str),
    "bindAddress": ("bind_address", str),
    "bindAddressHardFail": ("bind_address_hard_fail", bool),
    "healthzBindAddress": ("healthz_bind_address", str),
    "metricsBindAddress": ("metrics_bind_address", str),
    "clusterCIDR": ("cluster_cidr", str),
    "detectLocalMode": ("detect_local_mode", str),
    "detectLocal": {
        "bridgeInterface": ("pod_bridge_interface", str),
        "interfaceNamePrefix": ("pod_interface_name_prefix", str),
    },
    "nodePortAddresses": ("nodeport_addresses", _listed),
    "oomScoreAdj": ("oom_score_adj", int),
    "featureGates": ("feature_gates", _gates),
    "clientConnection": {"kubeconfig": ("kubeconfig", Path)},
    "iptables": {
        **_SYNC,
        "masqueradeBit": ("iptables_masquerade_bit", int),
        "masqueradeAll": ("masquerade_all", bool),
        "localhostNodePorts": ("iptables_localhost_nodeports", bool),
    },
    "nftables": {**_SYNC, "masqueradeBit": ("iptables_masquerade_bit", int), "masqueradeAll": ("masquerade_all", bool)},
    "ipvs": {
        "syncPeriod": ("ipvs_sync_period", seconds),
        "minSyncPeriod": ("ipvs_min_sync_period", seconds),
        "scheduler": ("ipvs_scheduler", str),
        "excludeCIDRs": ("ipvs_exclude_cidrs", _listed),
        "strictARP": ("ipvs_strict_arp", bool),
        "tcpTimeout": ("ipvs_tcp_timeout", seconds),
        "tcpFinTimeout": ("ipvs_tcpfin_timeout", seconds),
        "udpTimeout": ("ipvs_udp_timeout", seconds),
    },
    "conntrack": {
        "maxPerCore": ("conntrack_max_per_core", int),
        "min": ("conntrack_min", int),
        "tcpEstablishedTimeout": ("conntrack_tcp_timeout_established", seconds),
        "tcpCloseWaitTimeout": ("conntrack_tcp_timeout_close_wait", seconds),
        "tcpBeLiberal": ("conntrack_tcp_be_liberal", bool),
        "udpTimeout": ("conntrack_udp_timeout", seconds),
        "udpStreamTimeout": ("conntrack_udp_timeout_stream", seconds),
    },
}

MEANINGLESS = {
    "apiVersion",
    "kind",
    "logging",
    "enableProfiling",
    "showHiddenMetricsForVersion",
    "configSyncPeriod",
    "portRange",
    "winkernel",
    "windowsRunAsService",
}
"""Fields that upstream knows, and that change nothing here."""

_OF_MODES = ("iptables", "ipvs", "nftables")


def apply(file: Path, given: argparse.Namespace) -> None:
    """What the file says goes into `given`. Raises Unusable."""
    try:
        said = yaml.load(file.read_text(), yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as problem:
        raise Unusable(f"--config {file}: {problem}") from None
    if not isinstance(said, dict) or (said.get("apiVersion"), said.get("kind")) != (GROUP, KIND):
        raise Unusable(f"--config {file}: not a {KIND} of {GROUP}")
    try:
        found = values(said)
    except (ValueError, TypeError, AttributeError) as problem:
        raise Unusable(f"--config {file}: {problem}") from None
    if given.hostname_override:
        found.pop("hostname_override", None)
    for name, value in found.items():
        setattr(given, name, value)


def values(said: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of flags. What is not set stays at its default. Raises ValueError."""
    mode = said.get("mode") or "nftables"
    found: dict[str, Any] = {}
    for field, value in said.items():
        known = FIELDS.get(field)
        if known is None and field not in MEANINGLESS:
            raise ValueError(f'unknown field "{field}"')
        if isinstance(known, tuple):
            _put(found, known, value)
        elif known is not None:
            for name, each in (value or {}).items():
                of_field = known.get(name)
                if of_field is None and field != "clientConnection":
                    raise ValueError(f'unknown field "{field}.{name}"')
                if of_field is not None and _applies(field, name, mode):
                    _put(found, of_field, each)
    return found


def _applies(section: str, name: str, mode: str) -> bool:
    """Each mode has periods of its own; what is to be masqueraded, ipvs reads where iptables does."""
    return section not in _OF_MODES or section == mode or (mode == "ipvs" and section == "iptables" and name.startswith("masq"))


def _put(found: dict[str, Any], known: tuple[str, Read], value: Any) -> None:
    name, read = known
    left_open = value is None or value == "" or (value in ("0s", "0") and name.endswith("sync_period"))
    if not left_open:
        found[name] = read(value)
