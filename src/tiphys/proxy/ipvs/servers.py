"""Virtual servers and bound addresses as values, and the text that brings the kernel from some to others. Core.

The text is for `ipvsadm --restore`, and for `ip -batch`. An endpoint that is not wanted any more, of a virtual server that
stays, gets no new connections (weight 0) and goes once those that it has are over; UDP and SCTP know no end, theirs go at once.
"""

import ipaddress
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tiphys.proxy.ledger import Delta
from tiphys.proxy.rules import Address
from tiphys.proxy.services import Family

SERVERS, BOUND = "SERVERS", "BOUND"
"""Containers of the ledger: virtual servers with their endpoints, and the addresses that the interface has.

The key of a virtual server is its protocol, address and port; of a node port, ranges stand where the address does, or a star.
"""

VIRTUAL_SERVERS, SERVICE_IPS = "virtual-servers", "service-ips"
"""Sets with everything of this proxy that stands outside of its table: by them the next one knows what is its own."""

INTERFACE = "kube-ipvs0"

WEIGHT = 1
_FLAGS = {"tcp": "-t", "udp": "-u", "sctp": "--sctp-service"}
_PROTOCOLS = {flag: protocol for protocol, flag in _FLAGS.items()}
_NUMBERS = {"6": "tcp", "17": "udp", "132": "sctp"}
"""nft lists protocols so where /etc/protocols is not there to name them."""
_LISTED = re.compile(r"(TCP|UDP|SCTP) +(\S+)")
_REAL = re.compile(r" +-> (\S+) +\S+ +\d+ +(\d+) +(\d+)")


class Front(NamedTuple):
    """Of a virtual server."""

    protocol: str
    address: str
    port: int

    @property
    def shown(self) -> str:
        return f"{_FLAGS[self.protocol]} {_shown((self.address, self.port))}"

    @property
    def element(self) -> str:
        """As nftables writes it."""
        return f"{self.address} . {self.protocol} . {self.port}"


Real = tuple[Front, Address]


@dataclass(frozen=True, slots=True)
class Servers:
    virtual: Mapping[Front, str] = field(default_factory=dict)
    """With the options."""
    real: Mapping[Real, int] = field(default_factory=dict)
    """With the weight."""
    bound: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    text: str
    """Empty: there is nothing to do."""
    draining: frozenset[Real] = frozenset()
    """Endpoints without weight, which are to go when their connections have."""


def value(options: str, endpoints: Iterable[Address]) -> str:
    """Of an element of SERVERS."""
    return "\n".join([options, *(f"{host} {port}" for host, port in endpoints)])


def sides(delta: Delta, machine: Collection[str]) -> tuple[Servers, Servers]:
    """What was, and what is, of all that was touched; `machine`: the addresses that it has on other interfaces."""
    found: list[Servers] = []
    for side in (0, 1):
        virtual: dict[Front, str] = {}
        real: dict[Real, int] = {}
        for key, change in delta.elements.get(SERVERS, {}).items():
            said = change[side]
            if said is None:
                continue
            options, *endpoints = said.splitlines()
            for front in _fronts(key, machine):
                virtual[front] = options
                for each in endpoints:
                    host, port = each.split()
                    real[front, (host, int(port))] = WEIGHT
        bound = (address for address, change in delta.elements.get(BOUND, {}).items() if change[side] is not None)
        found.append(Servers(virtual, real, frozenset(bound) - frozenset(machine)))
    return found[0], found[1]


def _fronts(key: str, machine: Collection[str]) -> Iterator[Front]:
    protocol, where, port = key.split()
    if where != "*" and "/" not in where:
        yield Front(protocol, where, int(port))
        return
    ranges = [ipaddress.ip_network(each) for each in where.split(",")] if where != "*" else []
    for address in sorted(machine):
        if not ranges or any(ipaddress.ip_address(address) in each for each in ranges):
            yield Front(protocol, address, int(port))


def change(before: Servers, after: Servers, draining: Collection[Real] = ()) -> Change:
    """`draining`: what the last ones have left, of all virtual servers."""
    has = {**dict.fromkeys(draining, 0), **before.real}
    waiting: set[Real] = {each for each in draining if each[0] not in before.virtual or each[0] in after.virtual}
    lines = [f"-D {front.shown}" for front in before.virtual if front not in after.virtual]
    for front, options in after.virtual.items():
        if before.virtual.get(front) != options:
            lines.append(f"-{'E' if front in before.virtual else 'A'} {front.shown} {options}")
    for each, weight in after.real.items():
        waiting.discard(each)
        if has.get(each) != weight:
            lines.append(f"-{'e' if each in has else 'a'} {_at(each)} -m -w {weight}")
    for each, weight in before.real.items():
        front, _ = each
        if each in after.real or front not in after.virtual:
            continue
        if front.protocol != "tcp":
            lines.append(f"-d {_at(each)}")
            continue
        waiting.add(each)
        if weight:
            lines.append(f"-e {_at(each)} -m -w 0")
    return Change("".join(f"{line}\n" for line in lines), frozenset(waiting))


def over(listed: str, draining: Collection[Real]) -> Change:
    """Those of `draining` that have no connections any more, as the output of `ipvsadm -L -n` tells, go."""
    busy = {each for each, connections in _connections(listed) if connections}
    there = {each for each, _ in _connections(listed)}
    gone = sorted(each for each in draining if each in there and each not in busy)
    return Change("".join(f"-d {_at(each)}\n" for each in gone), frozenset(draining) & busy)


def saved(text: str) -> Servers:
    """From the output of `ipvsadm --save -n`. What has no address (a mark of the firewall) is nobody's here."""
    virtual: dict[Front, str] = {}
    real: dict[Real, int] = {}
    for line in text.splitlines():
        what, *words = line.split()
        if len(words) < 2 or words[0] not in _PROTOCOLS:
            continue
        options = dict(itertools.pairwise(words))
        front = Front(_PROTOCOLS[words[0]], *_address(words[1]))
        if what == "-A":
            flags = options.get("-b", "").replace("mh-port", "flag-2")
            told = {"-s": options.get("-s", ""), "-p": options.get("-p", ""), "-b": flags}
            virtual[front] = " ".join(f"{flag} {word}" for flag, word in told.items() if word)
        elif what == "-a":
            real[front, _address(options["-r"])] = int(options.get("-w", "1"))
    return Servers(virtual, real)


def noted(delta: Delta, before: Servers, after: Servers) -> Delta:
    """What goes into the table: all but the virtual servers and addresses themselves, which are only noted there."""
    elements = {name: each for name, each in delta.elements.items() if name not in (SERVERS, BOUND)}
    fronts = [frozenset(each.element for each in side.virtual) for side in (before, after)]
    for name, old, new in ((VIRTUAL_SERVERS, fronts[0], fronts[1]), (SERVICE_IPS, before.bound, after.bound)):
        changes: dict[str, tuple[str | None, str | None]] = {}
        changes.update((each, ("", None)) for each in sorted(old - new))
        changes.update((each, (None, "")) for each in sorted(new - old))
        if changes:
            elements[name] = changes
    return Delta(delta.chains, delta.containers, elements)


def only(servers: Servers, fronts: Collection[Front]) -> Servers:
    return Servers(
        {front: options for front, options in servers.virtual.items() if front in fronts},
        {each: weight for each, weight in servers.real.items() if each[0] in fronts},
        servers.bound,
    )


def binding(there: Mapping[str, Collection[str]], wanted: Collection[str], gone: Collection[str]) -> str:
    """For `ip -batch`; `there`: the addresses of every interface."""
    made = [] if INTERFACE in there else [f"link add {INTERFACE} type dummy"]
    has = there.get(INTERFACE, ())
    added = (f"address add {_host(each)} dev {INTERFACE}" for each in sorted(wanted) if each not in has)
    removed = (f"address del {_host(each)} dev {INTERFACE}" for each in sorted(gone) if each in has and each not in wanted)
    return "".join(f"{line}\n" for line in (*made, *added, *removed))


def interfaces(listed: str, family: Family) -> dict[str, set[str]]:
    """The addresses of each, from the output of `ip -o link show` and `ip -o address show`.

    Without localhost, and those of IPv6 that are good on one link only; of IPv4 they are addresses like others.
    """
    found: dict[str, set[str]] = {}
    for line in listed.splitlines():
        words = line.split()
        known = found.setdefault(words[1].rstrip(":").partition("@")[0], set())
        if words[2] == ("inet" if family == 4 else "inet6"):
            address = ipaddress.ip_address(words[3].partition("/")[0])
            if not address.is_loopback and not (family == 6 and address.is_link_local):
                known.add(str(address))
    return found


def recorded(listed: str) -> list[str]:
    """The elements of a set, from the output of `nft list set`."""
    found = re.search(r"elements = \{([^}]*)\}", listed)
    return [" ".join(each.split()) for each in found[1].split(",")] if found else []


def front_of(element: str) -> Front:
    address, protocol, port = element.split(" . ")
    return Front(_NUMBERS.get(protocol, protocol), address, int(port))


def _connections(listed: str) -> Iterator[tuple[Real, int]]:
    front: Front | None = None
    for line in listed.splitlines():
        if found := _LISTED.match(line):
            front = Front(found[1].lower(), *_address(found[2]))
        elif (found := _REAL.match(line)) and front is not None:
            yield (front, _address(found[1])), int(found[2]) + int(found[3])


def _at(real: Real) -> str:
    return f"{real[0].shown} -r {_shown(real[1])}"


def _shown(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _address(shown: str) -> Address:
    host, _, port = shown.rpartition(":")
    return str(ipaddress.ip_address(host.strip("[]"))), int(port)


def _host(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"
