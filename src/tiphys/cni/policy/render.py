"""What the pods of a node may do, as a table of nftables. Core.

    forward, first   sending:   @sending-4 or -6 leads from a pod's address to its chain, that to the chains of its policies
    forward, second  receiving: the same, by the address it goes to

`accept` ends only the chain of its hook, so what may be sent is looked at again by whoever is to receive it.
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator

from tiphys.cni.policy.objects import Block, Key, Ports, Rule, Who
from tiphys.cni.policy.rules import IsolatedPod, Isolation, PortName
from tiphys.cni.table import Chain, Content, Rules

_WORDS = {4: "ip", 6: "ip6"}
_HOOKS = {
    "sending": "{ type filter hook forward priority -5 ; }",
    "receiving": "{ type filter hook forward priority -4 ; }",
}
_ENDS = {"sending": ("saddr", "daddr"), "receiving": ("daddr", "saddr")}
"""Of a packet: the pod's own, and the other one."""
_PASSING = ("ct state established,related accept", "icmpv6 type { 130, 131, 132, 133, 134, 135, 136, 137, 143 } accept")
"""Replies; and how IPv6 finds its neighbours, which on a bridge is passed on like the rest."""
_INTERFACES = {"sending": "iifname", "receiving": "oifname"}
_NAME_LENGTH = 100


def content(isolation: Isolation, bridge: str) -> Content:
    """`bridge`: of this node's pods."""
    chains: dict[str, Chain] = {}
    containers = {f"known-{family}": f"set {{ type ipv{family}_addr ; }}" for family in _WORDS}
    elements = {f"known-{family}": _set(_of(isolation.known, family)) for family in _WORDS}
    for direction, rules in (("sending", isolation.egress), ("receiving", isolation.ingress)):
        verdicts = {each.key: (each, keys) for each in isolation.pods for keys in [_keys(each, direction)] if keys is not None}
        chains[direction] = Chain(tuple(_base(direction, bridge, closed=isolation.closed)), _HOOKS[direction])
        for key, many in rules.items():
            chains[_name(direction, "policy", key)] = Chain(tuple(dict.fromkeys(_rules(direction, many))))
        for pod, keys in verdicts.values():
            chains[_name(direction, "pod", pod.key)] = Chain(_pod(direction, pod, keys))
        for family in _WORDS:
            containers[f"{direction}-{family}"] = f"map {{ type ipv{family}_addr : verdict ; }}"
            elements[f"{direction}-{family}"] = {
                address: f"goto {_name(direction, 'pod', pod.key)}"
                for pod, _ in verdicts.values()
                for address in _of(pod.addresses, family)
            }
    for who, members in isolation.groups.items():
        for family in _WORDS:
            containers[_group(who, family)] = f"set {{ type ipv{family}_addr ; }}"
            elements[_group(who, family)] = _set(_of(members, family))
    for port, places in isolation.named_ports.items():
        for family in _WORDS:
            containers[_named(port, family)] = f"set {{ type ipv{family}_addr . inet_service ; }}"
            here = [f"{address} . {number}" for address, number in sorted(places) if _family(address) == family]
            elements[_named(port, family)] = _set(here)
    return Content(chains, containers, elements)


def _keys(pod: IsolatedPod, direction: str) -> tuple[Key, ...] | None:
    return pod.egress if direction == "sending" else pod.ingress


def _base(direction: str, bridge: str, *, closed: bool) -> Iterator[str]:
    own, _ = _ENDS[direction]
    yield from _PASSING
    for family, word in _WORDS.items():
        yield f"{word} {own} vmap @{direction}-{family}"
        if closed:
            yield f"{_INTERFACES[direction]} {bridge} {word} {own} != @known-{family} counter drop"


def _pod(direction: str, pod: IsolatedPod, policies: Iterable[Key]) -> Rules:
    _, other = _ENDS[direction]
    itself = [f"{_WORDS[_family(address)]} {other} {address} accept" for address in pod.addresses]
    return (*itself, *(f"jump {_name(direction, 'policy', each)}" for each in policies), "counter drop")


def _rules(direction: str, rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        for family, word in _WORDS.items():
            for peer in _peers(direction, rule, family, word):
                for ports in _ports(rule.ports, family, word):
                    yield " ".join(filter(None, (peer or (ports and f"meta nfproto ipv{family}"), ports, "accept")))


def _peers(direction: str, rule: Rule, family: int, word: str) -> Iterator[str]:
    """Empty: everybody."""
    _, other = _ENDS[direction]
    if rule.anybody:
        yield ""
    for who in rule.who:
        yield f"{word} {other} @{_group(who, family)}"
    for block in rule.blocks:
        if _family(block.network) == family:
            yield _block(block, f"{word} {other}")


def _block(block: Block, address: str) -> str:
    if not block.excepted:
        return f"{address} {_network(block.network)}"
    return f"{address} {_network(block.network)} {address} != {{ {', '.join(_disjoint(block.excepted))} }}"


def _disjoint(networks: Iterable[str]) -> list[str]:
    """A set of ranges may not have two that overlap."""
    found = [ipaddress.ip_network(each, strict=False) for each in networks]
    return [str(each) for each in ipaddress.collapse_addresses(found)]  # type: ignore[type-var]


def _network(text: str) -> str:
    """An address may have bits beyond its prefix; they do not count."""
    return str(ipaddress.ip_network(text, strict=False))


def _ports(ports: tuple[Ports, ...], family: int, word: str) -> Iterator[str]:
    """Empty: every port of every protocol."""
    if not ports:
        yield ""
    for protocol in dict.fromkeys(each.protocol for each in ports):
        of_it = [each for each in ports if each.protocol == protocol]
        if any(not each.first and not each.name for each in of_it):
            yield f"meta l4proto {protocol}"
            continue
        if numbers := list(_merged((each.first, each.last) for each in of_it if each.first)):
            listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in numbers)
            yield f"{protocol} dport {{ {listed} }}"
        for each in of_it:
            if each.name:
                yield f"{word} daddr . {protocol} dport @{_named((protocol, each.name), family)}"


def _merged(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges that touch become one: a set may not have two that overlap."""
    current: tuple[int, int] | None = None
    for first, last in sorted(ranges):
        if current is not None and first <= current[1] + 1:
            current = (current[0], max(current[1], last))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current


def _name(direction: str, what: str, key: Key) -> str:
    """Of a chain: short enough for the kernel, and never that of another one."""
    said = "/".join(key)
    return f"{direction}-{what}-{_digest(said)}-{re.sub(r'[^a-zA-Z0-9/.-]', '.', said)}"[:_NAME_LENGTH]


def _group(who: Who, family: int) -> str:
    spaces = "" if who.namespaces is None else f"{who.namespaces!r}"
    return f"group-{family}-{_digest(f'{who.namespace}|{spaces}|{who.pods!r}')}"


def _named(port: PortName, family: int) -> str:
    return f"named-{family}-{port[0]}-{port[1]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _family(address: str) -> int:
    return 6 if ":" in address else 4


def _of(addresses: Iterable[str], family: int) -> list[str]:
    return sorted(each for each in addresses if _family(each) == family)


def _set(keys: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(keys, "")
