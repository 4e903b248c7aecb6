"""Services as parts of the tables nat and filter: shared chains lead from an address to a chain, that one to an endpoint. Core.

    PREROUTING, OUTPUT (nat)    SERVICES -> FRONT-n: the address and port of a Service -> SVC-..., SVL-..., EXT-... or FW-...
                                         -> NODEPORTS: a port of this node -> EXT-...
                                SVC-, SVL- (endpoints of either policy) -> dnat, by chance or by affinity (SEP-)
    INPUT, FORWARD, OUTPUT      REFUSED, NODEPORTS: nobody is behind it; FIREWALL: sources that may not come
    POSTROUTING (nat)           marked packets, and those of a pod to itself, are masqueraded

iptables tries rule after rule: the addresses are spread over sixteen chains by their last four bits, so that a packet meets few
of them, and so that a change of one has to look at few.

Names of chains, of at most 28 bytes, all begin with a prefix that belongs to one proxy: nothing else there is touched. A
chain is named here by its table and its name; an element of a shared chain is a rule, its match leading to its target.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Iterator

from tiphys.proxy.ledger import Container, Part
from tiphys.proxy.rules import Address, Frame, PortRules
from tiphys.proxy.services import PortName

NAT, FILTER = "nat ", "filter "

JUMPS = (
    (NAT, "PREROUTING"),
    (NAT, "OUTPUT"),
    (NAT, "POSTROUTING"),
    (FILTER, "INPUT"),
    (FILTER, "FORWARD"),
    (FILTER, "OUTPUT"),
)
"""Chains of the kernel that lead to ours of the same name."""

FRONTS = 16
_NEW = "-m conntrack --ctstate NEW"
_MASQUERADE = "-j MASQUERADE --random-fully"
_TARGETS = {"drop": "-j DROP", "reject": "-j REJECT"}


def prefix(name: str) -> str:
    """Of all chains of the proxy that goes by that name."""
    return f"TP{_mark(name)[:4]}-"


def _mark(*said: str) -> str:
    return base64.b32encode(hashlib.sha256("\n".join(said).encode()).digest()[:10]).decode()


class Parts:
    def __init__(self, own: str) -> None:
        self._own = own

    def base(self, frame: Frame) -> Part:
        """What is there without any Service."""
        shared = [f"{NAT}{self._own}{each}" for each in (*_fronts(), "NODEPORTS", "HAIRPIN")]
        shared += [f"{FILTER}{self._own}{each}" for each in ("REFUSED", "NODEPORTS", "FIREWALL")]
        chains = {f"{NAT}{self._own}{name}": rules for name, rules in self._nat(frame).items()}
        chains.update((f"{FILTER}{self._own}{name}", rules) for name, rules in self._filter(frame).items())
        return Part(chains, {name: Container("chain", "") for name in shared})

    def part(self, ports: tuple[PortRules, ...], frame: Frame) -> Part:
        """What one Service adds."""
        chains: dict[str, tuple[str, ...]] = {}
        elements: dict[str, dict[str, str]] = {}
        for port in ports:
            chains.update((NAT + name, rules) for name, rules in self._chains(port, frame))
            for container, match, target in self._elements(port):
                elements.setdefault(container, {})[match] = target
        return Part(chains, {}, elements)

    def _nat(self, frame: Frame) -> dict[str, tuple[str, ...]]:
        own = self._own
        wide = frame.family == 4
        fronts = [f"-d {_last_bits(number, frame.family)} -j {own}{name}" for number, name in enumerate(_fronts())]
        marked = f"-m mark --mark {frame.mark:#x}/{frame.mark:#x}"
        outside = tuple(f"{each} -j RETURN" for each in _from_pods(frame)) if not frame.masquerade_all else ()
        localhost = "127.0.0.0/8" if wide else "::1/128"
        at_node = [f"-d {each}" for each in frame.node_port_ranges] or [f"! -d {localhost}"]
        if wide and frame.localhost_node_ports and not frame.node_port_ranges:
            at_node = [""]
        return {
            "PREROUTING": _ours(frame, f"{own}SERVICES"),
            "OUTPUT": (f"-j {own}SERVICES",),
            "SERVICES": (*fronts, *(f"{each} -m addrtype --dst-type LOCAL -j {own}NODEPORTS".strip() for each in at_node)),
            "MASQ": (f"-j MARK --or-mark {frame.mark:#x}",),
            "OUTSIDE": (*outside, f"-j {own}MASQ"),
            "POSTROUTING": (f"{marked} -j {own}MARKED", f"-m conntrack --ctstate DNAT -j {own}HAIRPIN"),
            # The mark goes, lest a packet that is seen again (a tunnel) be masqueraded again.
            "MARKED": (f"-j MARK --xor-mark {frame.mark:#x}", _MASQUERADE),
        }

    def _filter(self, frame: Frame) -> dict[str, tuple[str, ...]]:
        own = self._own
        refused = f"{_NEW} -j {own}REFUSED"
        firewall = f"{_NEW} -j {own}FIREWALL"
        # An answer that conntrack could not follow would reach the client from the pod's address, and end its connection.
        invalid = () if frame.tcp_liberal else ("-m conntrack --ctstate INVALID -j DROP",)
        guard: tuple[str, ...] = ()
        if frame.family == 4 and frame.localhost_node_ports:
            # route_localnet lets packets for localhost in from elsewhere: v1.36.4 pkg/kubelet/kubelet_network_linux.go
            guard = ("-d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",)
        ranges = [f"-d {each} " for each in frame.node_port_ranges] or [""]
        node_ports = [f"{each}-m addrtype --dst-type LOCAL -j {own}NODEPORTS" for each in ranges]
        return {
            "INPUT": _ours(frame, f"{own}ARRIVING"),
            "ARRIVING": (*guard, *node_ports, refused, firewall),
            "FORWARD": _ours(frame, f"{own}PASSING"),
            "PASSING": (
                *invalid,
                refused,
                firewall,
                f"-m mark --mark {frame.mark:#x}/{frame.mark:#x} -j ACCEPT",
                "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            ),
            "OUTPUT": (*guard, refused, firewall),
        }

    def _elements(self, port: PortRules) -> Iterator[tuple[str, str, str]]:
        """Shared chain, match, target."""
        own, at_port = self._own, _at_port(port.name.protocol, port.port)
        if port.internal == "endpoints":
            yield (
                self._front(port.cluster_ip),
                f"-d {port.cluster_ip} {at_port}",
                f"-j {self._policy(port, port.internal_local)}",
            )
        else:
            yield f"{FILTER}{own}REFUSED", f"-d {port.cluster_ip} {at_port}", _TARGETS[port.internal]
        external = f"-j {self._name('EXT', port.name)}"
        for address in port.outside:
            if port.anywhere:
                guarded = port.sources and address in port.load_balancer_ips
                target = f"-j {self._name('FW', port.name)}" if guarded else external
                yield self._front(address), f"-d {address} {at_port}", target
                if guarded:
                    yield f"{FILTER}{own}FIREWALL", f"-d {address} {at_port}", "-j DROP"
            if port.external != "endpoints":
                yield f"{FILTER}{own}REFUSED", f"-d {address} {at_port}", _TARGETS[port.external]
        if port.node_port:
            at_node_port = _at_port(port.name.protocol, port.node_port)
            if port.anywhere:
                yield f"{NAT}{own}NODEPORTS", at_node_port, external
            if port.external != "endpoints":
                yield f"{FILTER}{own}NODEPORTS", f"{at_node_port} {_NEW}", _TARGETS[port.external]
        if port.health_check_port:
            yield f"{FILTER}{own}NODEPORTS", _at_port("tcp", port.health_check_port), "-j ACCEPT"
        for address, _ in port.on_this_node:
            yield f"{NAT}{own}HAIRPIN", f"-s {address} -d {address}", _MASQUERADE

    def _front(self, address: str) -> str:
        last = ipaddress.ip_address(address).packed[-1] % FRONTS
        return f"{NAT}{self._own}FRONT-{last:X}"

    def _chains(self, port: PortRules, frame: Frame) -> Iterator[tuple[str, tuple[str, ...]]]:
        if port.anywhere and port.sources:
            allowed = (f"-s {each} -j {self._name('EXT', port.name)}" for each in port.sources)
            yield self._name("FW", port.name), tuple(allowed)
        if port.anywhere and port.externally_accessible:
            yield self._name("EXT", port.name), tuple(self._external(port, frame))
        masquerade: tuple[str, ...] = ()
        if port.internal == "endpoints" and (frame.masquerade_all or any(_from_pods(frame))):
            # From outside the cluster, by a route to this node: the answer has to come back this way.
            masquerade = (f"-d {port.cluster_ip} {_at_port(port.name.protocol, port.port)} -j {self._own}OUTSIDE",)
        for local, endpoints in ((False, port.cluster), (True, port.local)):
            if endpoints:
                first = masquerade if local == port.internal_local else ()
                yield self._policy(port, local), (*first, *self._to_endpoints(port, endpoints))
        if port.affinity_seconds:
            for each in port.endpoints:
                name = self._name("SEP", port.name, each)
                yield name, (f"-m recent --name {name} --set {_dnat(port, each)}",)

    def _external(self, port: PortRules, frame: Frame) -> Iterator[str]:
        everywhere = f"-j {self._policy(port, local=False)}" if port.cluster else "-j DROP"
        if not port.external_local:
            yield f"-j {self._own}MASQ"
            yield everywhere
            return
        # What starts in the cluster is as good as what went out and came back by a load balancer: any endpoint will do.
        for each in _from_pods(frame):
            yield f"{each} {everywhere}"
        yield f"-m addrtype --src-type LOCAL -j {self._own}MASQ"
        yield f"-m addrtype --src-type LOCAL {everywhere}"
        if port.external == "endpoints":
            yield f"-j {self._policy(port, local=True)}"

    def _to_endpoints(self, port: PortRules, endpoints: tuple[Address, ...]) -> Iterator[str]:
        targets = [_dnat(port, each) for each in endpoints]
        if port.affinity_seconds:
            names = [self._name("SEP", port.name, each) for each in endpoints]
            targets = [f"-j {name}" for name in names]
            for name in names:
                yield f"-m recent --name {name} --rcheck --seconds {port.affinity_seconds} --reap -j {name}"
        for left, target in zip(range(len(targets), 0, -1), targets, strict=True):
            chance = f"-m statistic --mode random --probability {1 / left:.10f} " if left > 1 else ""
            yield chance + target

    def _policy(self, port: PortRules, local: bool) -> str:
        return self._name("SVL" if local else "SVC", port.name)

    def _name(self, what: str, name: PortName, address: Address | None = None) -> str:
        said = (name.namespace, name.service, name.port, name.protocol)
        return f"{self._own}{what}-{_mark(*said, *map(str, address or ()))}"


def _fronts() -> list[str]:
    return [f"FRONT-{number:X}" for number in range(FRONTS)]


def _last_bits(number: int, family: int) -> str:
    return f"0.0.0.{number}/0.0.0.{FRONTS - 1}" if family == 4 else f"::{number:x}/::{FRONTS - 1:x}"


def _at_port(protocol: str, number: int) -> str:
    return f"-p {protocol} -m {protocol} --dport {number}"


def _from_pods(frame: Frame) -> list[str]:
    """Matches for what comes from pods of this cluster; any of them will do. Empty: not known."""
    if frame.pod_interface:
        return [f"-i {frame.pod_interface}"]
    return [f"-s {each}" for each in frame.pod_ranges]


def _ours(frame: Frame, chain: str) -> tuple[str, ...]:
    """To `chain`, unless it is a pod of another cluster of this machine that asks: see rules.Frame."""
    everybody = f"-j {chain}"
    if not frame.neighbours or not frame.pod_ranges:
        return (everybody,)
    own = (f"-s {each} {everybody}" for each in frame.pod_ranges)
    return (*own, *(f"-s {each} -j RETURN" for each in frame.neighbours), everybody)


def _dnat(port: PortRules, address: Address) -> str:
    host, number = address
    shown = f"[{host}]" if ":" in host else host
    protocol = port.name.protocol
    return f"-p {protocol} -m {protocol} -j DNAT --to-destination {shown}:{number}"
