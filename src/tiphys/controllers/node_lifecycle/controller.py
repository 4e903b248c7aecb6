"""Decides what is said of a node: whether it lives, which taints follow from its conditions, and when to look again."""

from dataclasses import dataclass
from math import ceil

from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Watch, no_keys, own
from tiphys.controllers.node_lifecycle.settings import UPSTREAMS, NodeLifecycleSettings
from tiphys.controllers.node_lifecycle.zones import Zones
from tiphys.controllers.plan import NOT_FOUND, Emit, Note, Patch, Plan, Update, Write, set_status
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get

LEASE_NAMESPACE = "kube-node-lease"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"

_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_TAINT_OF = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_NO_EXECUTE = {"False": NOT_READY, "Unknown": UNREACHABLE}
"""By what Ready says."""
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OURS = frozenset((*_TAINT_OF.values(), _UNSCHEDULABLE))


_OLD_LABELS = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}
"""What some still select by: each says what the new label says."""


@dataclass(frozen=True, slots=True)
class World:
    node: Obj
    pods: tuple[Obj, ...]
    silent: float
    """Seconds since the last sign of life, by this controller's own clock."""
    ever_heard: bool
    now: float
    settings: NodeLifecycleSettings = UPSTREAMS
    spared: bool = False
    """No node is ready, so none loses its pods: it is more likely that we do not see them."""
    evict_in: float | None = 0.0
    """Seconds until it is this node's turn to lose them; None: not for the time being."""
    new: bool = False
    gone: bool = False
    fine: bool = False
    """It is ready, and nothing has changed since there was nothing to do."""


class NodeLifecycleController(Base):
    name = "node-lifecycle-controller"
    component = "node-controller"

    def __init__(self, settings: NodeLifecycleSettings | None = None) -> None:
        self._settings = settings or NodeLifecycleSettings()
        self.watches = (own(NODES), Watch(LEASES, no_keys, heard=self._hear), Watch(PODS, no_keys))
        self._zones = Zones(self._settings)
        self._known: dict[str, Obj] = {}
        self._beats: dict[str, tuple[object, float]] = {}
        """By node: its last sign of life in its status, and when that was noticed. Clocks of nodes need not agree with ours."""
        self._renewals: dict[str, tuple[object, float]] = {}
        """The same of its Lease. No renewal is worth a turn: who falls silent is noticed when the time is up."""
        self._all_were_lost = False
        self._fine: dict[str, Obj] = {}
        """By node: the state of it about which there was nothing to do."""

    def _hear(self, lease: Obj, now: float) -> None:
        if meta.namespace(lease) == LEASE_NAMESPACE:
            sign = get(lease, ("spec", "renewTime"))
            known = self._renewals.get(meta.name(lease))
            if known is None or known[0] != sign:
                self._renewals[meta.name(lease)] = (sign, now)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        node = caches[NODES].get(key)
        if node is None:
            return self._forget(key, now)
        ready = conditions.find(get(node, ("status", "conditions")), "Ready")
        sign = (ready or {}).get("lastHeartbeatTime")
        beat = self._beats.get(key)
        if self._fine.get(key) is node and beat is not None:
            # The usual turn of a usual node: only its silence counts.
            silent = now - max(beat[1], self._renewals.get(key, beat)[1])
            if silent < self._settings.grace:
                return World(node, (), silent, ever_heard=True, now=now, settings=self._settings, fine=True)
        if beat is None or (beat[0] != sign and not _is_our_doing(ready)):
            beat = self._beats[key] = (sign, now)
        if caches[LEASES].get(f"{LEASE_NAMESPACE}/{key}") is None:
            self._renewals.pop(key, None)
        heard = max(beat[1], self._renewals.get(key, beat)[1])
        new = meta.uid(self._known.get(key) or {"metadata": {}}) != meta.uid(node)
        self._known[key] = node
        self._zones.saw(node, ready is not None and ready.get("status") == "True")
        self._look_around(now)
        pods = tuple(caches[PODS].by("node", key))
        evict_in: float | None = 0.0
        if _awaits_eviction(node):
            evict_in = self._zones.turn_of(node, now)
        else:
            self._zones.settled(key)
        return World(node, pods, now - heard, ready is not None, now, self._settings, self._zones.all_lost, evict_in, new)

    def _forget(self, key: str, now: float) -> World | None:
        node = self._known.pop(key, None)
        self._beats.pop(key, None)
        self._renewals.pop(key, None)
        self._zones.forget(key)
        return World(node, (), 0.0, ever_heard=True, now=now, gone=True) if node is not None else None

    def _look_around(self, now: float) -> None:
        """When the first one is seen again after all were lost, the others are given time to be seen, too."""
        if self._all_were_lost and not self._zones.all_lost:
            self._beats = {name: (sign, now) for name, (sign, _) in self._beats.items()}
        self._all_were_lost = self._zones.all_lost

    def reconcile(self, world: World) -> Plan:
        plan = decide(world)
        if world.fine or (not plan.writes and conditions.is_true(get(world.node, ("status", "conditions")), "Ready")):
            self._fine[meta.name(world.node)] = world.node
        else:
            self._fine.pop(meta.name(world.node), None)
        return plan


def decide(world: World) -> Plan:
    node, settings = world.node, world.settings
    if world.fine:
        return Plan(again_in=_together(world, settings.grace - world.silent))
    if world.gone:
        return Plan((_event(node, "RemovingNode", f"Removing Node {meta.name(node)} from Controller"),))
    grace = settings.grace if world.ever_heard else settings.startup_grace
    writes: list[Write] = []
    if world.new:
        writes.append(_event(node, "RegisteredNode", f"Registered Node {meta.name(node)} in Controller"))
    if world.silent >= grace:
        declared = _declare_lost(node, world.now)
        if declared is not None:
            return Plan((*writes, declared))
        wait = settings.monitor_period
    else:
        wait = _together(world, grace - world.silent)
    labels, taints = _wanted_labels(node), wanted_taints(node, world.now, spared=world.spared, evict_in=world.evict_in)
    if labels != meta.labels(node) or not _same(taints, node["spec"].get("taints") or []):
        spec = {**node["spec"], "taints": taints}
        if not taints:
            del spec["taints"]
        writes.append(Update(NODES, {**node, "spec": spec, "metadata": {**node["metadata"], "labels": labels}}))
    if not conditions.is_true(get(node, ("status", "conditions")), "Ready"):
        writes.extend(_mark_not_ready(pod, world.now) for pod in world.pods if facts.is_ready(pod))
        wait = min(wait, settings.monitor_period, world.evict_in or settings.monitor_period)
    return Plan(tuple(writes), again_in=wait)


def _together(world: World, wait: float) -> float:
    """Up to a monitor period later, so that of many nodes all that are due in this time are looked at at once."""
    period = world.settings.monitor_period
    return ceil((world.now + wait) / period) * period - world.now


def _event(node: Obj, reason: str, message: str) -> Write:
    return Emit(Note(node, reason, f"Node {meta.name(node)} event: {message}"))


def _wanted_labels(node: Obj) -> dict[str, str]:
    labels = meta.labels(node)
    old = {old: labels[new] for new, old in _OLD_LABELS.items() if new in labels}
    return {**labels, **old}


def _awaits_eviction(node: Obj) -> bool:
    """It is not ready, and its pods have not been told to go yet."""
    key = _NO_EXECUTE.get((conditions.find(get(node, ("status", "conditions")), "Ready") or {}).get("status", ""))
    return key is not None and not _has_no_execute(node)


def _has_no_execute(node: Obj) -> bool:
    taints = node["spec"].get("taints") or ()
    return any(each["key"] in (NOT_READY, UNREACHABLE) and each["effect"] == "NoExecute" for each in taints)


def _is_our_doing(ready: Obj | None) -> bool:
    """A change of the conditions by this controller is no sign of life."""
    return ready is not None and str(ready.get("reason", "")).startswith("NodeStatus")


def _declare_lost(node: Obj, now: float) -> Write | None:
    """The conditions that the kubelet would report become Unknown; None if they are."""
    present = get(node, ("status", "conditions")) or []
    changed = [_unknown(conditions.find(present, kind), kind, node, now) for kind in _REPORTED]
    if all(conditions.find(present, each["type"]) == each for each in changed):
        return None
    kept = [each for each in present if each.get("type") not in _REPORTED]
    note = Note(node, "NodeNotReady", f"Node {meta.name(node)} status is now: NodeNotReady")
    status = {**(node.get("status") or {}), "conditions": [*changed, *kept]}
    write = set_status(NODES, node, status)
    was_ready = conditions.is_true(present, "Ready")
    return Update(write.kind, write.obj, write.subresource, done=note) if was_ready else write


def _unknown(before: Obj | None, kind: str, node: Obj, now: float) -> Obj:
    if before is None:
        return {
            "type": kind,
            "status": "Unknown",
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
            "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
            "lastTransitionTime": times.rfc3339(now),
        }
    if before.get("status") == "Unknown":
        return before
    return {
        **before,
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": times.rfc3339(now),
    }


def wanted_taints(node: Obj, now: float, *, spared: bool = False, evict_in: float | None = 0.0) -> list[Obj]:
    """Everybody else's taints, and those that the node's conditions and its cordon stand for. One that tells pods to go waits
    its turn, unless it only takes the place of another."""
    present: list[Obj] = node["spec"].get("taints") or []
    may_evict = not spared and (evict_in == 0.0 or _has_no_execute(node))
    wanted: dict[tuple[str, str], None] = {}
    for condition in get(node, ("status", "conditions")) or ():
        key = _TAINT_OF.get((condition.get("type", ""), condition.get("status", "")))
        if key is not None:
            wanted[key, "NoSchedule"] = None
        if key in (NOT_READY, UNREACHABLE) and may_evict:
            wanted[key, "NoExecute"] = None
    if not conditions.find(get(node, ("status", "conditions")), "Ready"):
        # Until the kubelet has said that it is ready, it is not.
        wanted[NOT_READY, "NoSchedule"] = None
    if node["spec"].get("unschedulable"):
        wanted[_UNSCHEDULABLE, "NoSchedule"] = None
    taints = [each for each in present if each["key"] not in _OURS or (each["key"], each["effect"]) in wanted]
    have = {(each["key"], each["effect"]) for each in taints}
    since = times.rfc3339(now)
    taints += [{"key": key, "effect": effect, "timeAdded": since} for key, effect in wanted if (key, effect) not in have]
    return taints


def _same(one: list[Obj], other: list[Obj]) -> bool:
    return [(each["key"], each["effect"]) for each in one] == [(each["key"], each["effect"]) for each in other]


def _mark_not_ready(pod: Obj, now: float) -> Write:
    """Nobody knows whether it still serves, so Services must not count on it."""
    change = {"type": "Ready", "status": "False", "lastTransitionTime": times.rfc3339(now)}
    note = Note(pod, "NodeNotReady", "Node is not ready", "Warning")
    patch = {"metadata": {"uid": meta.uid(pod)}, "status": {"conditions": [change]}}
    return Patch(PODS, pod, patch, "strategic", "status", done=note, tolerate=NOT_FOUND)
