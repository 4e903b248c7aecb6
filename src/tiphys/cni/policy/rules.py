"""Policies, pods and namespaces become what the pods of one node may do. Core.

Whom a rule names is worked out here: selectors become sets of addresses, which many rules may share; a port's name becomes the
set of all addresses with the number that the pod there gives it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tiphys.cni.policy.objects import Key, Pod, Policy, Rule, Who

PortName = tuple[str, str]
"""Protocol and name."""


@dataclass(frozen=True, slots=True)
class IsolatedPod:
    key: Key
    addresses: tuple[str, ...]
    ingress: tuple[Key, ...] | None
    """The policies any of which may allow it; None: no policy is about it."""
    egress: tuple[Key, ...] | None


@dataclass(frozen=True, slots=True)
class Isolation:
    pods: tuple[IsolatedPod, ...] = ()
    known: frozenset[str] = frozenset()
    """The addresses of all pods of this node that the API knows of."""
    closed: bool = False
    """Whether addresses that are not known may do nothing."""
    ingress: Mapping[Key, tuple[Rule, ...]] = field(default_factory=dict)
    """The rules of every policy that some pod here needs."""
    egress: Mapping[Key, tuple[Rule, ...]] = field(default_factory=dict)
    groups: Mapping[Who, frozenset[str]] = field(default_factory=dict)
    """The addresses of the pods that these rules name."""
    named_ports: Mapping[PortName, frozenset[tuple[str, int]]] = field(default_factory=dict)


def isolation(
    node: str, policies: Iterable[Policy], pods: Iterable[Pod], namespaces: Mapping[str, Mapping[str, str]]
) -> Isolation:
    """`namespaces`: their labels, by name."""
    policies, pods = sorted(policies, key=lambda each: each.key), list(pods)
    here = sorted((each for each in pods if each.node == node), key=lambda each: each.key)
    isolated = tuple(each for each in (_isolated(pod, policies) for pod in here) if each is not None)
    ingress_wanted = {key for each in isolated for key in each.ingress or ()}
    egress_wanted = {key for each in isolated for key in each.egress or ()}
    ingress = {each.key: each.ingress for each in policies if each.ingress is not None and each.key in ingress_wanted}
    egress = {each.key: each.egress for each in policies if each.egress is not None and each.key in egress_wanted}
    rules = [rule for many in (*ingress.values(), *egress.values()) for rule in many]
    wanted = {who for rule in rules for who in rule.who}
    names = {(port.protocol, port.name) for rule in rules for port in rule.ports if port.name}
    return Isolation(
        isolated,
        frozenset(address for each in here for address in each.addresses),
        bool(policies),
        ingress,
        egress,
        {who: frozenset(_members(who, pods, namespaces)) for who in wanted},
        {name: frozenset(_named(name, pods)) for name in names},
    )


def _isolated(pod: Pod, policies: Iterable[Policy]) -> IsolatedPod | None:
    chosen = [each for each in policies if each.key[0] == pod.namespace and each.selector.matches(pod.labels)]
    ingress = tuple(each.key for each in chosen if each.ingress is not None)
    egress = tuple(each.key for each in chosen if each.egress is not None)
    if not ingress and not egress:
        return None
    return IsolatedPod(pod.key, pod.addresses, ingress or None, egress or None)


def _members(who: Who, pods: Iterable[Pod], namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    if who.namespaces is None:
        chosen = {who.namespace}
    else:
        chosen = {name for name, labels in namespaces.items() if who.namespaces.matches(labels)}
    for pod in pods:
        if pod.namespace in chosen and who.pods.matches(pod.labels):
            yield from pod.addresses


def _named(wanted: PortName, pods: Iterable[Pod]) -> Iterator[tuple[str, int]]:
    for pod in pods:
        for name, protocol, number in pod.ports:
            if (protocol, name) == wanted:
                yield from ((address, number) for address in pod.addresses)
