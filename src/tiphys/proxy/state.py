"""What the proxy knows: objects as they come and go, the rules of each Service, and which of them are out of date. Core."""

from dataclasses import dataclass, field

from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get
from tiphys.proxy import endpoints as slices_of
from tiphys.proxy import rules, services
from tiphys.proxy.endpoints import ZONE
from tiphys.proxy.ledger import Key
from tiphys.proxy.rules import Address, Frame, HealthCheck, Node, PortRules, ServiceRules
from tiphys.proxy.services import Family, PortName

FAMILIES: tuple[Family, ...] = (4, 6)

TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
"""The annotation of a slice that says when what it follows from was changed."""

PRIMARY = "primary"
"""As a range of node ports: the address by which the cluster knows the node."""


@dataclass(frozen=True, slots=True)
class Settings:
    node: str
    mode: str = "nftables"
    pod_ranges: tuple[str, ...] = ()
    """Addresses of pods; what does not come from them is from outside the cluster. Empty: not known."""
    masquerade_all: bool = False
    table: str = "tiphys-proxy"
    """Of the kernel. Two clusters on one machine need two."""
    neighbours: tuple[str, ...] = ()
    """The range from which all clusters of this machine take the addresses of their pods; see rules.Frame."""
    node_port_ranges: tuple[str, ...] = ()
    """Where node ports are: networks, or PRIMARY; empty: at every address of the node."""
    pods_of_node: bool = False
    """The addresses of pods are those that the cluster gave this node, instead of `pod_ranges`."""
    address: str = ""
    """The node's own, where its Node does not say so; see rules.Node."""
    pod_interface: str = ""
    """See rules.Frame; likewise the others."""
    mark: int = 0x4000
    localhost_node_ports: bool = False
    tcp_liberal: bool = False
    sync_period: float = 30.0
    """How often to see whether the rules are still there; a change that takes twice as long to be written is a failure."""
    min_sync_period: float = 0.1
    """The shortest time from one transaction to the next: what changes meanwhile goes together."""
    scheduler: str = "rr"
    """See rules.Frame; likewise spared."""
    spared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    frame: Frame
    services: dict[Key, tuple[PortRules, ...]] = field(default_factory=dict)
    """Of those that have changed; empty: it has no ports (any more)."""


class State:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._node = Node(settings.node)
        self._pods_of_node: tuple[str, ...] = ()
        self._services: dict[Key, Obj] = {}
        self._slices: dict[Key, dict[str, Obj]] = {}
        self._ranges: dict[str, tuple[str, ...]] = {}
        self._dirty: set[Key] = set()
        self._built: dict[Family, dict[Key, ServiceRules]] = {family: {} for family in FAMILIES}
        self._moved: dict[Family, dict[Key, tuple[PortRules, ...]]] = {family: {} for family in FAMILIES}
        self._frames: dict[Family, Frame] = {}
        self._health: dict[Key, HealthCheck] = {}
        self.started = 0.0
        """What was changed earlier is no measure of how fast we are."""
        self._triggers: list[str] = []
        self.changed = False
        """Whether there may be something that `changes` has not told yet."""
        self.udp_moved = False
        """Whether a UDP port has changed since it was asked last."""

    def service(self, old: Obj | None, new: Obj | None) -> None:
        key = _key(new or old)
        if new is None:
            self._services.pop(key, None)
        else:
            self._services[key] = new
            if old is not None and old.get("spec") == new.get("spec") and old.get("status") == new.get("status"):
                return
        self._touch(key)

    def slice(self, old: Obj | None, new: Obj | None) -> None:
        before = slices_of.service_of(old) if old is not None else None
        after = slices_of.service_of(new) if new is not None else None
        if old is not None and before is not None and before != after:
            self._slices.get(before, {}).pop(old["metadata"]["name"], None)
            self._touch(before)
        if new is not None and after is not None:
            self._slices.setdefault(after, {})[new["metadata"]["name"]] = new
            self._touch(after)
            if trigger := (new["metadata"].get("annotations") or {}).get(TRIGGER):
                self._triggers.append(trigger)

    def node(self, old: Obj | None, new: Obj | None) -> None:
        if meta.name(new or old or {}) != self._settings.node:
            return
        node = Node(self._settings.node)
        if new is not None:
            zone = (new["metadata"].get("labels") or {}).get(ZONE, "")
            addresses = [each for each in get(new, ("status", "addresses"), ()) if each.get("type", "").endswith("IP")]
            first = (self._settings.address,) if self._settings.address else ()
            node = Node(self._settings.node, zone, (*first, *(each["address"] for each in addresses)))
            pods = tuple(get(new, ("spec", "podCIDRs"), ()) or ())
            self.changed = self.changed or pods != self._pods_of_node
            self._pods_of_node = pods
        if node != self._node:
            self._node = node
            self.changed = True
            for key in self._services:
                self._touch(key)

    def service_range(self, old: Obj | None, new: Obj | None) -> None:
        name = meta.name(new or old or {})
        if new is None:
            self._ranges.pop(name, None)
        else:
            self._ranges[name] = tuple(get(new, ("spec", "cidrs"), ()))
        self.changed = True

    def changes(self) -> dict[Family, Changes]:
        """Since the last call; only Services that were touched are looked at."""
        for key in self._dirty:
            self._rebuild(key)
        self._dirty.clear()
        self.changed = False
        moved, self._moved = self._moved, {family: {} for family in FAMILIES}
        found: dict[Family, Changes] = {}
        for family in FAMILIES:
            frame = self._frame(family)
            if frame != self._frames.get(family):
                # Every Service is written by its frame.
                self._frames[family] = frame
                moved[family].update((key, made.ports) for key, made in self._built[family].items())
            found[family] = Changes(frame, moved[family])
        return found

    def changed_at(self) -> list[float]:
        """When what was noted since the last call was changed, as far as slices tell."""
        told, self._triggers = self._triggers, []
        found = []
        for each in told:
            try:
                found.append(times.parse(each))
            except ValueError:
                continue
        return [each for each in found if each >= self.started]

    def without_local(self, family: Family) -> dict[str, int]:
        """How many ports have a policy that keeps traffic here, and no endpoint here."""
        ports = [port for one in self._built[family].values() for port in one.ports]
        return {
            "internal": sum(each.internal == "drop" for each in ports),
            "external": sum(each.external == "drop" for each in ports),
        }

    def health_checks(self) -> list[HealthCheck]:
        return list({each.port: each for each in self._health.values()}.values())

    def udp(self, family: Family) -> tuple[list[PortRules], dict[PortName, frozenset[Address]]]:
        """Ports with UDP, and every endpoint that answers there."""
        built = self._built[family].values()
        ports = [port for one in built for port in one.ports if port.name.protocol == "udp"]
        serving = {name: found for one in built for name, found in one.serving.items() if name.protocol == "udp"}
        return ports, serving

    def _touch(self, key: Key) -> None:
        self._dirty.add(key)
        self.changed = True

    def _rebuild(self, key: Key) -> None:
        service = self._services.get(key)
        slices = self._slices.get(key, {})
        if not slices:
            self._slices.pop(key, None)
        self._health.pop(key, None)
        for family in FAMILIES:
            built = self._built[family]
            before = built.pop(key, None)
            after = rules.of_service(service, slices.values(), self._node, family) if service is not None else ServiceRules()
            if after.ports:
                built[key] = after
            self._health.update((key, each) for each in after.health)
            old = before.ports if before is not None else ()
            if old != after.ports:
                self._moved[family][key] = after.ports
            if before != after and any(each.name.protocol == "udp" for each in (*old, *after.ports)):
                self.udp_moved = True

    def _frame(self, family: Family) -> Frame:
        settings = self._settings
        known = services.of_family(self._node.addresses, family)
        primary = next((f"{each}/{32 if family == 4 else 128}" for each in known), "")
        node_ports = [primary if each == PRIMARY else each for each in settings.node_port_ranges]
        return Frame(
            family,
            tuple(services.ranges_of_family((each for many in self._ranges.values() for each in many), family)),
            tuple(services.ranges_of_family(self._pods_of_node if settings.pods_of_node else settings.pod_ranges, family)),
            settings.masquerade_all,
            tuple(services.ranges_of_family(node_ports, family)),
            settings.pod_interface,
            settings.mark,
            settings.localhost_node_ports,
            settings.tcp_liberal,
            tuple(services.ranges_of_family(settings.neighbours, family)),
            settings.scheduler,
            tuple(services.ranges_of_family(settings.spared, family)),
        )


def _key(obj: Obj | None) -> Key:
    metadata = (obj or {})["metadata"]
    return metadata["namespace"], metadata["name"]
