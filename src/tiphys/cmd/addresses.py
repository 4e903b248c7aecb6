"""Addresses and ports of this machine."""

import ipaddress
import socket
from collections.abc import Iterable, Sequence


def own_address() -> str:
    """By which this machine reaches the world."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent; the kernel picks the way out
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def are_free(networks: Iterable[str]) -> bool:
    """Whether no route of this machine leads to any part of them."""
    # Loaded where there are nodes; a control plane alone does without netlink.
    from pyroute2 import IPRoute

    wanted = [ipaddress.ip_network(each) for each in networks]
    with IPRoute() as netlink:
        taken = [
            ipaddress.ip_network(f"{route.get_attr('RTA_DST')}/{route['dst_len']}")
            for family in (socket.AF_INET, socket.AF_INET6)
            for route in netlink.get_routes(family=family)
            if route["dst_len"]
        ]
    return not any(each.version == other.version and each.overlaps(other) for each in wanted for other in taken)


def check_ranges(flag: str, ranges: Sequence[str], least: int = 1) -> None:
    """One range, or one of each family, each with so many addresses. Raises ValueError."""
    networks = [ipaddress.ip_network(each) for each in ranges]
    if len(networks) > 2:
        raise ValueError(f"--{flag} must not hold more than two values")
    if len(networks) == 2 and networks[0].version == networks[1].version:
        raise ValueError(f"--{flag}[0] and --{flag}[1] must be of different IP family")
    for each in networks:
        if each.num_addresses < least:
            raise ValueError(f"the range {each} of --{flag} must be at least {least} IP addresses")
