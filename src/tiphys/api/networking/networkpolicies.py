"""NetworkPolicy: which traffic pods may receive and send."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.machinery import selectors
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import port_name, port_number

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_TYPES = ("Ingress", "Egress")


def default(policy: Obj) -> None:
    spec = policy.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def validate(policy: Obj) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from selectors.validate_label_selector(spec.get("podSelector") or {}, "spec.podSelector")
    for direction, peers in _DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            at = index(child("spec", direction), position)
            for place, port in enumerate(rule.get("ports") or ()):
                yield from _validate_port(port, index(child(at, "ports"), place))
            for place, peer in enumerate(rule.get(peers) or ()):
                yield from _validate_peer(peer, index(child(at, peers), place))
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for position, kind in enumerate(types):
        if kind not in _TYPES:
            yield not_supported(index("spec.policyTypes", position), kind, _TYPES)


def _validate_port(rule: Obj, at: str) -> Iterator[FieldError]:
    protocol, port, last = rule.get("protocol"), rule.get("port"), rule.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield not_supported(child(at, "protocol"), protocol, _PROTOCOLS)
    if port is None:
        if last is not None:
            yield invalid(child(at, "endPort"), last, "may not be specified when `port` is not specified")
    elif isinstance(port, int):
        for problem in port_number(port):
            yield invalid(child(at, "port"), port, problem)
        if last is None:
            return
        if last < port:
            yield invalid(child(at, "endPort"), port, "must be greater than or equal to `port`")
        for problem in port_number(last):
            yield invalid(child(at, "endPort"), last, problem)
    else:
        if last is not None:
            yield invalid(child(at, "endPort"), last, "may not be specified when `port` is non-numeric")
        for problem in port_name(port):
            yield invalid(child(at, "port"), port, problem)


def _validate_peer(peer: Obj, at: str) -> Iterator[FieldError]:
    count = 0
    for part in ("podSelector", "namespaceSelector"):
        if peer.get(part) is not None:
            count += 1
            yield from selectors.validate_label_selector(peer[part], child(at, part))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _validate_block(block, child(at, "ipBlock"))
        if count:
            yield forbidden(at, "may not specify both ipBlock and another peer")
    elif not count:
        yield required(at, "must specify a peer")


def _validate_block(block: Obj, at: str) -> Iterator[FieldError]:
    value = block.get("cidr") or ""
    if not value:
        yield required(child(at, "cidr"))
        return
    yield from ip.validate_legacy_cidr(value, child(at, "cidr"))
    whole = ip.parse_cidr(value)
    if whole is None:
        return
    for position, left_out in enumerate(block.get("except") or ()):
        place = index(child(at, "except"), position)
        yield from ip.validate_legacy_cidr(left_out, place)
        part = ip.parse_cidr(left_out)
        if part is None:
            continue
        within = part.network.version == whole.network.version and part.network.network_address in whole.network
        if not within or whole.network.prefixlen >= part.network.prefixlen:
            yield invalid(place, left_out, "must be a strict subset of `cidr`")


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    for direction, peers in _DIRECTIONS:
        for position, rule in enumerate(get(new, ("spec", direction), ())):
            for place, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock")
                if block is None:
                    continue
                at = child(index(child(index(child("spec", direction), position), peers), place), "ipBlock")
                yield from ip.cidr_warnings(block.get("cidr", ""), child(at, "cidr"))
                for number, left_out in enumerate(block.get("except") or ()):
                    yield from ip.cidr_warnings(left_out, index(child(at, "except"), number))


def _pods(policy: Obj, _: float) -> str:
    try:
        return selectors.on_one_line(get(policy, ("spec", "podSelector"), {}))
    except ValueError:
        return "<error>"


NETWORK_POLICIES = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
    singular="networkpolicy",
    schema="io.k8s.api.networking.v1.NetworkPolicy",
    short=("netpol",),
    default=default,
    validate=validate,
    warnings=warnings,
    strategy=Strategy(generation_of=SPEC),
    columns=(Column("Pod-Selector", _pods, description="Pods that it is about."), AGE),
)
