"""The kernel's switches that a proxy sets when it begins: how many connections are tracked, how long, and localhost. Core."""

from dataclasses import dataclass

MOST_TRACKED = 1048576

_NETFILTER = "net/netfilter/nf_conntrack_"


@dataclass(frozen=True, slots=True)
class Tracking:
    """Of connections, by conntrack. 0: as it is."""

    most_per_core: int = 0
    least: int = 0
    tcp_established: float = 0
    """Seconds; likewise all that follow."""
    tcp_close_wait: float = 0
    udp: float = 0
    udp_stream: float = 0
    tcp_liberal: bool = False


def wanted(tracking: Tracking, cores: int, *, localhost: bool, strict_arp: bool = False) -> dict[str, int]:
    """Below /proc/sys; `localhost`: packets of 127.0.0.1 may leave the machine, as node ports there need.

    `strict_arp`: only the interface that has an address answers for it, not any other of the machine.
    """
    found: dict[str, int] = {}
    if tracking.most_per_core > 0:
        scaled = min(tracking.most_per_core * cores, MOST_TRACKED)
        found["net/netfilter/nf_conntrack_max"] = max(scaled, tracking.least) if scaled < MOST_TRACKED else MOST_TRACKED
    times = {
        "tcp_timeout_established": tracking.tcp_established,
        "tcp_timeout_close_wait": tracking.tcp_close_wait,
        "udp_timeout": tracking.udp,
        "udp_timeout_stream": tracking.udp_stream,
    }
    found.update((_NETFILTER + name, int(seconds)) for name, seconds in times.items() if seconds > 0)
    if tracking.tcp_liberal:
        found[f"{_NETFILTER}tcp_be_liberal"] = 1
    if localhost:
        found["net/ipv4/conf/all/route_localnet"] = 1
    if strict_arp:
        found.update({"net/ipv4/conf/all/arp_ignore": 1, "net/ipv4/conf/all/arp_announce": 2})
    return found
