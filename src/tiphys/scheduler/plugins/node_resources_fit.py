"""A node must have what the pod requests; the node with most left is preferred."""

from collections.abc import Iterator, Sequence

from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.amounts import spelled
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.devices.extended import OF_CLASS
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base, Lack, Reason, Refused
from tiphys.scheduler.node_table import Nodes, NodeTable, Numbers
from tiphys.scheduler.plugins.resource_scoring import strategy
from tiphys.scheduler.pod_info import PodInfo, in_units


class NodeResourcesFit(Base):
    name = "NodeResourcesFit"
    imagines = True
    unblocked_by = Event.POD_DELETED | Event.POD_SCALED_DOWN | Event.NODE_ADDED | Event.NODE_ALLOCATABLE | Event.DEVICE_CLASS

    def __init__(self, args: Obj | None = None, cluster: Cluster | None = None) -> None:
        """`args`: upstream's NodeResourcesFitArgs."""
        given = args or {}
        self._cluster = cluster or Cluster()
        self._strategy = strategy(given.get("scoringStrategy"), self._cluster)
        self._ignored = frozenset(given.get("ignoredResources") or ())
        self._ignored_groups = frozenset(given.get("ignoredResourceGroups") or ())

    def _counts(self, resource: str) -> bool:
        """Others may look after extended resources."""
        group, slash, _ = resource.partition("/")
        extended = slash and not group.endswith("kubernetes.io")
        return not extended or (resource not in self._ignored and group not in self._ignored_groups)

    def _asked(self, pod: PodInfo) -> Iterator[tuple[str, int]]:
        return ((name, amount) for name, amount in pod.requests.items() if amount > 0 and self._counts(name))

    def _is_backed(self, resource: str) -> bool:
        """By devices: nodes without a device plugin for it need not have any, and DynamicResources looks after it there."""
        return self._cluster.devices.behind.get(resource) is not None

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        names = [name for name, _ in self._asked(pod)]
        return None if any(map(self._is_backed, names)) else frozenset(("pods", *names))

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        table, rows = nodes.table, nodes.rows
        full = nodes.pod_count >= table.pods_allowed[rows]
        reasons = []
        if full.any():
            reasons.append(Reason(full, "Too many pods"))
        for name, amount in self._asked(pod):
            at, backed = table.resources.get(name), self._is_backed(name)
            if at is None:
                if backed:
                    continue
                reasons.append(Reason(~nodes.nothing(), f"Insufficient {name}", False))
                continue
            allocatable = table.allocatable[at, rows]
            short = nodes.requested(name) + amount > allocatable
            if backed:
                short &= allocatable > 0
            if short.any():
                # What is too much for an empty node is too much however many pods are evicted.
                reasons.append(Reason(short, f"Insufficient {name}", allocatable >= amount))
        if not reasons:
            return None
        every = reasons[0].rows
        for reason in reasons[1:]:
            every = every | reason.rows
        return Refused(every, tuple(reasons))

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        table, row = nodes.table, nodes.row()
        name, found = table.names[row], []
        if table.pod_count[row] >= table.pods_allowed[row]:
            told = f"is full: {table.pod_count[row]} pods of {table.pods_allowed[row]}"
            found.append(Lack(told, f"remove a pod from {name}", 1 / max(int(table.pods_allowed[row]), 1)))
        for resource, amount in pod.requests.items():
            at = table.resources.get(resource)
            has = 0 if at is None else int(table.allocatable[at, row])
            used = 0 if at is None else int(table.requested[at, row])
            short = used + amount - has
            if amount > 0 and short > 0 and self._counts(resource) and not (has <= 0 and self._is_backed(resource)):
                found.append(_shortage(name, resource, amount, has, short))
        return found

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        return self._strategy.score(pod, nodes)

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        match change.event:
            case Event.POD_DELETED:
                return change.was_on_a_node
            case Event.POD_SCALED_DOWN:
                return change.concerns(pod) or _freed(pod, change)
            case Event.DEVICE_CLASS:
                return _stands_behind_more(pod, change)
        room = _allocatable(change.node)
        asked = {name: amount for name, amount in pod.requests.items() if amount}
        backed = {name for name in asked if room.get(name, 0) <= 0 and self._is_backed(name)}
        if room.get("pods", 0) < 1 or any(amount > room.get(name, 0) for name, amount in asked.items() if name not in backed):
            return False
        if change.old is None or backed:
            return True
        before = _allocatable(change.old)
        return any(room.get(name, 0) > before.get(name, 0) for name in ("pods", *asked))


def _shortage(node: str, resource: str, amount: int, has: int, short: int) -> Lack:
    words = f"lacks {spelled(resource, short)} {resource}"
    if has <= 0:
        return Lack(f"has no {resource}", f"a node with {spelled(resource, amount)} {resource}")
    if amount > has:
        # Emptying it would not do.
        told = f"{words} (it has {spelled(resource, has)} in all)"
        return Lack(told, f"request at most {spelled(resource, has)} {resource}", short / amount)
    return Lack(words, f"free {spelled(resource, short)} {resource} on {node}", short / (2 * has))


def _stands_behind_more(pod: PodInfo, change: Change) -> bool:
    """A class has come for a resource that the pod asks for."""
    assert change.new is not None
    name, old = change.new["spec"].get("extendedResourceName"), change.old
    if old is None and OF_CLASS + change.new["metadata"]["name"] in pod.requests:
        return True
    return name in pod.requests and (old is None or old["spec"].get("extendedResourceName") != name)


def _freed(pod: PodInfo, change: Change) -> bool:
    old, new = change.old_pod, change.new_pod
    if old is None or new is None or not new.node:
        return False
    return any(amount and old.requests.get(name, 0) > new.requests.get(name, 0) for name, amount in pod.requests.items())


def _allocatable(node: dict[str, object]) -> dict[str, int]:
    status = node.get("status")
    amounts = (status.get("allocatable") or {}) if isinstance(status, dict) else {}
    return in_units({name: quantity.parse(text) for name, text in amounts.items()})
