"""Who may be evicted when much is ill at once: the fault may lie with the zone's network, or with our own view.

    a zone is                    nodes that may lose their pods
    normal                       one in 10 s
    partly disrupted             one in 100 s, none if the zone is small
    fully disrupted              one in 10 s, as long as another zone is not
    every zone fully disrupted   none, and those that were about to lose them are spared: it is we who see nothing

https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction
"""

from dataclasses import dataclass, field

from tiphys.controllers.node_lifecycle.settings import NodeLifecycleSettings
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

EXCLUDED = "node.kubernetes.io/exclude-disruption"
_ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
FEWEST_ILL = 3
"""So many must be, before a share of a zone counts."""

Zone = tuple[str, str]


def zone_of(node: Obj) -> Zone:
    """Region and zone."""
    labels = meta.labels(node)
    region, zone = (next((labels[name] for name in names if name in labels), "") for names in (_REGIONS, _ZONES))
    return region, zone


@dataclass(slots=True)
class _State:
    ready: set[str] = field(default_factory=set)
    ill: set[str] = field(default_factory=set)
    next_at: float = 0.0
    """When the next node of it may be evicted."""
    rate: float = 0.0
    """By which that was reckoned."""

    @property
    def is_lost(self) -> bool:
        return bool(self.ill) and not self.ready


class Zones:
    def __init__(self, settings: NodeLifecycleSettings) -> None:
        self._settings = settings
        self._zones: dict[Zone, _State] = {}
        self._where: dict[str, Zone] = {}
        self._granted: set[str] = set()
        """Whose turn has come, until they are done."""

    @property
    def all_lost(self) -> bool:
        """Not one node is ready: nobody is to be evicted."""
        return bool(self._zones) and all(state.is_lost for state in self._zones.values())

    def saw(self, node: Obj, ready: bool) -> None:
        name, zone = meta.name(node), zone_of(node)
        if self._where.get(name) != zone:
            self.forget(name)
        if EXCLUDED in meta.labels(node):
            self.forget(name)
            return
        self._where[name] = zone
        state = self._zones.setdefault(zone, _State())
        (state.ill if ready else state.ready).discard(name)
        (state.ready if ready else state.ill).add(name)

    def settled(self, name: str) -> None:
        """It is not, or no longer, about to lose its pods."""
        self._granted.discard(name)

    def forget(self, name: str) -> None:
        self.settled(name)
        zone = self._where.pop(name, None)
        if zone is None:
            return
        state = self._zones[zone]
        state.ready.discard(name)
        state.ill.discard(name)
        if not state.ready and not state.ill:
            del self._zones[zone]

    def turn_of(self, node: Obj, now: float) -> float | None:
        """Seconds until the pods of this node may be evicted; 0: now, and then it is the next one's turn later. None: not as
        long as things are as they are."""
        state = self._zones.get(zone_of(node))
        if state is None:
            state = _State(ready={""})
        rate = self._rate(state)
        if rate <= 0:
            return None
        if rate != state.rate:
            # What is left to wait was reckoned by another rate.
            state.next_at = min(state.next_at, now + 1 / rate)
            state.rate = rate
        if meta.name(node) in self._granted:
            return 0.0
        if now < state.next_at:
            return state.next_at - now
        state.next_at = now + 1 / rate
        self._granted.add(meta.name(node))
        return 0.0

    def _rate(self, state: _State) -> float:
        settings = self._settings
        if state.is_lost:
            return 0.0 if self.all_lost else settings.eviction_rate
        count = len(state.ready) + len(state.ill)
        if len(state.ill) >= FEWEST_ILL and len(state.ill) / count >= settings.unhealthy_share:
            return settings.secondary_eviction_rate if count > settings.large_zone else 0.0
        return settings.eviction_rate
