"""What `tiphys proxy` can be told: upstream's flags of kube-proxy, and the settings that follow from them."""

import argparse
import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

from tiphys.cmd import component, gate_flags
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser, yes_or_no
from tiphys.cmd.proxy_config import seconds
from tiphys.machinery import feature_gates
from tiphys.proxy.loop import BACKENDS
from tiphys.proxy.serving import Place, Serving
from tiphys.proxy.state import PRIMARY, Settings
from tiphys.proxy.switches import Tracking, wanted

_LOCAL = ("ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix")
TIMEOUTS = ("ipvs_tcp_timeout", "ipvs_tcpfin_timeout", "ipvs_udp_timeout")
_YES_NO: dict[str, Any] = {"type": yes_or_no, "nargs": "?", "const": True, "metavar": "BOOL"}


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=description)
    component.add_options(parser)
    add = parser.add_argument
    add("--config", type=Path, metavar="F", help="a KubeProxyConfiguration; flags of the same meaning are ignored beside it")
    add("--master", default="", metavar="URL", help="address of the API server, instead of the kubeconfig's")
    add("--hostname-override", default="", metavar="NODE", help="this node's name (default: the name of the machine)")
    add("--proxy-mode", choices=tuple(BACKENDS), default="nftables", help="how rules are written (default: %(default)s)")
    add("--bind-address", default="0.0.0.0", metavar="A", help="the node's own address (default: what its Node says)")
    add(
        "--healthz-bind-address",
        default="0.0.0.0:10256",
        metavar="A:P",
        help="/healthz, /livez; empty: none (default: %(default)s)",
    )
    add(
        "--metrics-bind-address",
        default="127.0.0.1:10249",
        metavar="A:P",
        help="/metrics, /statusz, /flagz; empty: none (default: %(default)s)",
    )
    add("--bind-address-hard-fail", default=False, help="not to be able to listen there is the end (default: false)", **_YES_NO)
    gate_flags.add(parser, feature_gates.PAGES)
    add("--cleanup", default=False, **_YES_NO, help="remove what a proxy has left in the kernel, in every mode, and exit")
    _rules(parser)
    _ipvs(parser)
    _tracking(parser)
    return parser


def _rules(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--detect-local-mode", choices=_LOCAL, default="ClusterCIDR", help="how to know pods' traffic (default: %(default)s)")
    add("--cluster-cidr", default="", metavar="CIDRS", help="addresses of pods; traffic from elsewhere comes from outside")
    add("--pod-bridge-interface", default="", metavar="I", help="with BridgeInterface: the bridge of the pods")
    add("--pod-interface-name-prefix", default="", metavar="P", help="with InterfaceNamePrefix: how pods' interfaces begin")
    add(
        "--masquerade-all",
        **_YES_NO,
        default=False,
        help="pods see this node as the source of all that comes by a Service",
    )
    add(
        "--nodeport-addresses",
        default="",
        metavar="CIDRS",
        help="where node ports are: networks, or primary, the node's own address (default: every address but localhost)",
    )
    add(
        "--iptables-localhost-nodeports",
        default=True,
        help="iptables: node ports are at 127.0.0.1 too (default: true)",
        **_YES_NO,
    )
    add("--iptables-masquerade-bit", type=int, default=14, metavar="N", help="of packets' marks (default: %(default)s)")
    add(
        "--iptables-sync-period",
        dest="sync_period",
        type=seconds,
        default=30.0,
        metavar="T",
        help="how often to see whether the rules are still there (default: 30s)",
    )
    add(
        "--iptables-min-sync-period",
        dest="min_sync_period",
        type=seconds,
        default=0.1,
        metavar="T",
        help="the shortest time from one writing of rules to the next (default: 100ms)",
    )


def _ipvs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--ipvs-scheduler", default="rr", metavar="S", help="ipvs: how the kernel chooses endpoints (default: %(default)s)")
    add("--ipvs-sync-period", type=seconds, default=30.0, metavar="T", help="as that of iptables, with ipvs (default: 30s)")
    add("--ipvs-min-sync-period", type=seconds, default=0.1, metavar="T", help="likewise (default: 100ms)")
    add("--ipvs-exclude-cidrs", default="", metavar="CIDRS", help="ipvs: virtual servers there are never cleaned up")
    add(
        "--ipvs-strict-arp",
        default=False,
        help="ipvs: answer ARP only for addresses of the interface that was asked (default: false)",
        **_YES_NO,
    )
    add("--ipvs-tcp-timeout", type=seconds, default=0.0, metavar="T", help="of idle connections (default: as it is)")
    add("--ipvs-tcpfin-timeout", type=seconds, default=0.0, metavar="T", help="of those that end (default: as it is)")
    add("--ipvs-udp-timeout", type=seconds, default=0.0, metavar="T", help="of UDP (default: as it is)")


def _tracking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--conntrack-max-per-core",
        type=int,
        default=32768,
        metavar="N",
        help="0: leave the limit as it is (default: %(default)s)",
    )
    add("--conntrack-min", type=int, default=131072, metavar="N", help="connections tracked at least (default: %(default)s)")
    add("--conntrack-tcp-timeout-established", type=seconds, default=86400.0, metavar="T", help="0: as it is (default: 24h)")
    add("--conntrack-tcp-timeout-close-wait", type=seconds, default=3600.0, metavar="T", help="0: as it is (default: 1h)")
    add(
        "--conntrack-tcp-be-liberal",
        default=False,
        help="packets out of their window are not invalid (default: false)",
        **_YES_NO,
    )
    add("--conntrack-udp-timeout", type=seconds, default=0.0, metavar="T", help="(default: as it is)")
    add("--conntrack-udp-timeout-stream", type=seconds, default=0.0, metavar="T", help="(default: as it is)")
    add(
        "--oom-score-adj",
        type=int,
        default=-999,
        metavar="N",
        help="of this process, where it may be set (default: %(default)s)",
    )


def settings(given: argparse.Namespace) -> Settings:
    mode = given.detect_local_mode
    interface = {"BridgeInterface": given.pod_bridge_interface, "InterfaceNamePrefix": f"{given.pod_interface_name_prefix}+"}
    if given.proxy_mode not in BACKENDS:
        raise Unusable(f"there is no proxy mode {given.proxy_mode!r}: {', '.join(BACKENDS)}")
    if mode not in _LOCAL:
        raise Unusable(f"there is no way {mode!r} to know pods' traffic: {', '.join(_LOCAL)}")
    if mode == "BridgeInterface" and not given.pod_bridge_interface:
        raise Unusable("--detect-local-mode BridgeInterface needs --pod-bridge-interface")
    if mode == "InterfaceNamePrefix" and not given.pod_interface_name_prefix:
        raise Unusable("--detect-local-mode InterfaceNamePrefix needs --pod-interface-name-prefix")
    if not 0 <= given.iptables_masquerade_bit < 32:
        raise Unusable("--iptables-masquerade-bit: must be within the range [0, 31]")
    for each in TIMEOUTS:
        if getattr(given, each) < 0:
            raise Unusable(f"--{each.replace('_', '-')}: must be greater than or equal to 0")
    ipvs = given.proxy_mode == "ipvs"
    address = "" if given.bind_address in ("", "0.0.0.0", "::") else str(ipaddress.ip_address(given.bind_address))
    return Settings(
        node=given.hostname_override or socket.gethostname().lower(),
        mode=given.proxy_mode,
        pod_ranges=_networks("--cluster-cidr", given.cluster_cidr) if mode == "ClusterCIDR" else (),
        masquerade_all=given.masquerade_all,
        node_port_ranges=_networks("--nodeport-addresses", given.nodeport_addresses, PRIMARY),
        pods_of_node=mode == "NodeCIDR",
        pod_interface=interface.get(mode, ""),
        address=address,
        mark=1 << given.iptables_masquerade_bit,
        localhost_node_ports=given.proxy_mode == "iptables" and given.iptables_localhost_nodeports,
        tcp_liberal=given.conntrack_tcp_be_liberal,
        sync_period=given.ipvs_sync_period if ipvs else given.sync_period,
        min_sync_period=given.ipvs_min_sync_period if ipvs else given.min_sync_period,
        scheduler=given.ipvs_scheduler,
        spared=_networks("--ipvs-exclude-cidrs", given.ipvs_exclude_cidrs),
    )


def ipvs_timeouts(given: argparse.Namespace) -> list[str]:
    """Of idle TCP connections, of those that end, of UDP, as ipvsadm takes them; empty: all stay as they are."""
    found = [str(int(getattr(given, each))) for each in TIMEOUTS]
    return found if given.proxy_mode == "ipvs" and any(each != "0" for each in found) else []


def switches(given: argparse.Namespace, settings: Settings) -> dict[str, int]:
    """Of the kernel."""
    tracking = Tracking(
        given.conntrack_max_per_core,
        given.conntrack_min,
        given.conntrack_tcp_timeout_established,
        given.conntrack_tcp_timeout_close_wait,
        given.conntrack_udp_timeout,
        given.conntrack_udp_timeout_stream,
        given.conntrack_tcp_be_liberal,
    )
    strict_arp = given.proxy_mode == "ipvs" and given.ipvs_strict_arp
    return wanted(tracking, os.cpu_count() or 1, localhost=settings.localhost_node_ports, strict_arp=strict_arp)


def serving(given: argparse.Namespace) -> Serving:
    health = _place("--healthz-bind-address", given.healthz_bind_address, 10256)
    metrics = _place("--metrics-bind-address", given.metrics_bind_address, 10249)
    return Serving(health, metrics, given.bind_address_hard_fail)


def _place(flag: str, text: str, usual: int) -> Place | None:
    if not text:
        return None
    host, separator, port = text.rpartition(":")
    if not separator or (":" in host and not host.startswith("[")):
        host, port = text, str(usual)
    try:
        address = str(ipaddress.ip_address(host.strip("[]")))
        return (address, int(port)) if int(port) else None
    except ValueError:
        raise Unusable(f"{flag}: {text!r} is not an address with a port") from None


def _networks(flag: str, listed: str, *words: str) -> tuple[str, ...]:
    found = tuple(filter(None, listed.split(",")))
    for each in found:
        try:
            _ = each in words or ipaddress.ip_network(each)
        except ValueError as problem:
            raise Unusable(f"{flag}: {problem}") from None
    return found
