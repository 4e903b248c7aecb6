"""Which resolvers are asked about which names: those of a stub domain about what lies in it, the others about the rest. Core.

A ConfigMap says it, in the words that kube-dns had for it: `stubDomains` (JSON: domain to resolvers) and `upstreamNameservers`
(JSON: resolvers, instead of the node's own). https://kubernetes.io/docs/tasks/administer-cluster/dns-custom-nameservers/
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tiphys.dns import wire
from tiphys.machinery.tree import Obj

NAMESPACE = "kube-system"
CONFIG_MAP = "kube-dns"

Resolver = tuple[str, int]
PORT = 53


@dataclass(frozen=True, slots=True)
class Routes:
    others: tuple[Resolver, ...] = ()
    """For names in none of the domains."""
    stubs: Mapping[bytes, tuple[Resolver, ...]] = field(default_factory=dict)
    """By domain, as labels in lower case."""

    def domain(self, name: bytes) -> bytes:
        """The longest of the domains that the name lies in; empty: in none."""
        at = 0
        while at < len(name) and name[at]:
            if name[at:] in self.stubs:
                return name[at:]
            at += name[at] + 1
        return b""

    def resolvers(self, domain: bytes) -> tuple[Resolver, ...]:
        return self.stubs[domain] if domain else self.others


def resolver(text: str) -> Resolver:
    """`A`, `A:P` or `[A]:P`. Raises ValueError."""
    host, separator, port = text.rpartition(":")
    if text.endswith("]") or not separator or (":" in host and not host.startswith("[")):
        host, port = text, str(PORT)
    number = int(port) if port.isdecimal() else 0
    if not 0 < number < 65536:
        raise ValueError(f"{text!r} is not an address with a port")
    return str(ipaddress.ip_address(host.strip("[]"))), number


def of_config_map(config_map: Obj | None, usual: tuple[Resolver, ...]) -> Routes:
    """`usual`: the resolvers where it names none. Raises ValueError."""
    data = (config_map or {}).get("data") or {}
    stubs = _json(data, "stubDomains", dict)
    upstream = _json(data, "upstreamNameservers", list)
    return Routes(
        _resolvers(upstream) or usual,
        {wire.name(domain).lower(): _resolvers(listed) for domain, listed in stubs.items()},
    )


def _json(data: Mapping[str, str], name: str, kind: type) -> Any:
    text = data.get(name, "").strip()
    try:
        found = orjson.loads(text) if text else kind()
    except orjson.JSONDecodeError as problem:
        raise ValueError(f"{name}: {problem}") from None
    if not isinstance(found, kind):
        raise ValueError(f"{name}: not a {'map' if kind is dict else 'list'}")
    return found


def _resolvers(listed: Iterable[Any]) -> tuple[Resolver, ...]:
    if not isinstance(listed, list):
        raise ValueError(f"{listed!r} is not a list of addresses")
    return tuple(resolver(str(each)) for each in listed)
