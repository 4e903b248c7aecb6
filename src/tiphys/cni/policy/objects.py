"""What NetworkPolicies, Pods and Namespaces say, read once per change. Core."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.machinery import meta, selectors
from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj, get

_OVER = ("Succeeded", "Failed")

Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Pod:
    key: Key
    node: str
    labels: Mapping[str, str]
    addresses: tuple[str, ...]
    ports: tuple[tuple[str, str, int], ...] = ()
    """Those that have a name: name, protocol, number."""

    @property
    def namespace(self) -> str:
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Who:
    """Pods that selectors choose."""

    pods: Selector
    namespaces: Selector | None = None
    namespace: str = ""
    """Of the policy: where its pods are without a selector of namespaces."""


@dataclass(frozen=True, slots=True)
class Block:
    network: str
    excepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ports:
    protocol: str
    """tcp, udp or sctp."""
    first: int = 0
    """0: all of them, or those with the name."""
    last: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    who: tuple[Who, ...] = ()
    blocks: tuple[Block, ...] = ()
    ports: tuple[Ports, ...] = ()
    """None at all: every port, of every protocol."""
    anybody: bool = False
    """It names nobody: everybody."""


@dataclass(frozen=True, slots=True)
class Policy:
    key: Key
    selector: Selector
    ingress: tuple[Rule, ...] | None = None
    """None: it says nothing of this direction."""
    egress: tuple[Rule, ...] | None = field(default=None)


def pod(obj: Obj) -> Pod | None:
    """None: it has no address of its own (any more)."""
    spec, status = obj["spec"], obj.get("status") or {}
    addresses = tuple(each["ip"] for each in status.get("podIPs") or ())
    if spec.get("hostNetwork") or not addresses or status.get("phase") in _OVER:
        return None
    serving = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    ports = tuple(
        (port["name"], (port.get("protocol") or "TCP").lower(), port["containerPort"])
        for container in (*serving, *spec["containers"])
        for port in container.get("ports") or ()
        if port.get("name")
    )
    return Pod((meta.namespace(obj), meta.name(obj)), spec.get("nodeName") or "", meta.labels(obj), addresses, ports)


def slim(obj: Obj) -> Obj:
    """A pod, without what does not matter here: pods are many and large."""
    spec, status = obj["spec"], obj.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "labels")
    return {
        "metadata": {name: obj["metadata"][name] for name in kept if name in obj["metadata"]},
        "spec": {
            **{name: spec[name] for name in ("nodeName", "hostNetwork") if name in spec},
            **{name: [_ports_of(each) for each in spec[name]] for name in ("containers", "initContainers") if spec.get(name)},
        },
        "status": {name: status[name] for name in ("podIPs", "phase") if name in status},
    }


def _ports_of(container: Obj) -> Obj:
    return {name: container[name] for name in ("ports", "restartPolicy") if name in container}


def policy(obj: Obj) -> Policy:
    """Raises ValueError for selectors that no API server would have let in."""
    spec, namespace = obj["spec"], meta.namespace(obj)
    types = spec.get("policyTypes") or ()
    ingress = tuple(_rule(each, each.get("from"), namespace) for each in spec.get("ingress") or ())
    egress = tuple(_rule(each, each.get("to"), namespace) for each in spec.get("egress") or ())
    return Policy(
        (namespace, meta.name(obj)),
        selectors.from_tree(spec.get("podSelector") or {}),
        ingress if "Ingress" in types else None,
        egress if "Egress" in types else None,
    )


def _rule(rule: Obj, peers: Iterable[Obj] | None, namespace: str) -> Rule:
    peers = tuple(peers or ())
    return Rule(
        tuple(_who(each, namespace) for each in peers if each.get("ipBlock") is None),
        tuple(
            Block(each["ipBlock"]["cidr"], tuple(each["ipBlock"].get("except") or ()))
            for each in peers
            if each.get("ipBlock") is not None
        ),
        tuple(_port(each) for each in rule.get("ports") or ()),
        anybody=not peers,
    )


def _who(peer: Obj, namespace: str) -> Who:
    chosen = peer.get("namespaceSelector")
    return Who(
        selectors.from_tree(peer.get("podSelector") or {}),
        selectors.from_tree(chosen) if chosen is not None else None,
        "" if chosen is not None else namespace,
    )


def _port(port: Obj) -> Ports:
    protocol, number = (port.get("protocol") or "TCP").lower(), port.get("port")
    if isinstance(number, str):
        return Ports(protocol, name=number)
    return Ports(protocol, number or 0, get(port, ("endPort",)) or number or 0)
