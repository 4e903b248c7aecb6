"""Which free address or port to hand out. Core: chance and the question "is it taken?" are arguments."""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PROBES = 64
"""Random tries before the range is searched from one end to the other."""

_LARGEST = 1 << 16
"""Of a huge (IPv6) range only this many addresses are handed out at random; any may be asked for by name."""


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `first` to `last`; those below `reserved` are handed out last, so that people can pick them by hand."""

    first: int
    last: int
    reserved: int

    def candidates(self, chance: Callable[[], float]) -> Iterator[int]:
        """All of them, likely free ones first."""
        upper = self.last - self.reserved + 1
        if upper > 0:
            for _ in range(PROBES):
                yield self.reserved + int(chance() * upper)
        yield from range(max(self.reserved, self.first), self.last + 1)
        yield from range(self.first, min(self.reserved, self.last + 1))

    def pick(self, chance: Callable[[], float], is_taken: Callable[[int], bool]) -> int | None:
        return next((each for each in self.candidates(chance) if not is_taken(each)), None)


def address_span(network: Network) -> Span:
    """Without the network's own address, and without the broadcast address of IPv4."""
    first = int(network.network_address) + 1
    size = network.num_addresses
    last = int(network.broadcast_address) - (1 if network.version == 4 and network.prefixlen < 31 else 0)
    if network.version == 6 and size > _LARGEST:
        last = first + _LARGEST
    return Span(first, last, first + _lower_band(size, 16, 16, 256))


def port_span(first: int, last: int) -> Span:
    return Span(first, last, first + _lower_band(last - first + 1, 32, 16, 128))


def _lower_band(size: int, parts: int, least: int, most: int) -> int:
    """How much of a range is left to those who choose for themselves; nothing of a small one."""
    return 0 if size <= least else min(max(least, size // parts), most)
