"""The table itself: nodes come, change and go; pods come and go."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.node_table.arrays import FIRST_CAPACITY, Mask, Numbers, grown
from tiphys.scheduler.node_table.counts import CarriedTerms, CountKey, SelectorCounts
from tiphys.scheduler.node_table.images import ImageColumns
from tiphys.scheduler.node_table.labels import LabelColumns
from tiphys.scheduler.node_table.pods import PodColumns, Rows
from tiphys.scheduler.node_table.taints import TaintColumns, taints_of
from tiphys.scheduler.node_table.view import Nodes
from tiphys.scheduler.node_table.worlds import Imagined, Memory, Worlds
from tiphys.scheduler.pod_info import HostPort, PodInfo, in_units
from tiphys.scheduler.volumes import disk_name

CPU, MEMORY, STORAGE = 0, 1, 2
_FIRST = ("cpu", "memory", "ephemeral-storage")


class NodeTable:
    def __init__(self) -> None:
        capacity = FIRST_CAPACITY
        self.size = 0
        """Rows below it are in use, or were."""
        self.count = 0
        """Nodes that are there."""
        self.membership = 0
        """Changes whenever rows are given to other nodes."""
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.objects: list[Obj | None] = []
        self.pods: list[dict[str, PodInfo]] = []
        self.present: Mask = np.zeros(capacity, np.bool_)
        self.unschedulable: Mask = np.zeros(capacity, np.bool_)
        self.cordoned = 0
        self.pod_count: Numbers = np.zeros(capacity, np.int64)
        self.pods_allowed: Numbers = np.zeros(capacity, np.int64)
        self.resources: dict[str, int] = {name: at for at, name in enumerate(_FIRST)}
        self.allocatable: Numbers = np.zeros((len(_FIRST), capacity), np.int64)
        self.requested: Numbers = np.zeros((len(_FIRST), capacity), np.int64)
        self.scored: Numbers = np.zeros((2, capacity), np.int64)
        """CPU and memory requested, where a container that asks for none counts as using some."""
        self.labels = LabelColumns(capacity)
        self.taints = TaintColumns(capacity)
        self.images = ImageColumns(capacity)
        self.carried = CarriedTerms(capacity)
        self._counts = SelectorCounts(capacity)
        self.placed = PodColumns()
        """The same pods as in `pods`."""
        self.volume_uses: Numbers = np.zeros(capacity, np.int64)
        """Claims and disks that pods name; one that several name as often as they do."""
        self.ports: dict[tuple[str, int], dict[str, dict[int, int]]] = {}
        """(protocol, port) -> address -> row -> how many use it."""
        self.disks: dict[tuple[str, ...], Counter[int]] = {}
        """By name: how many pods on each row name it."""
        self.claims: Counter[str] = Counter()
        """By namespace/name: how many pods name it, wherever they are."""
        self._free: list[int] = []

    @property
    def capacity(self) -> int:
        return len(self.present)

    def all(self) -> Nodes:
        return Nodes(self, slice(0, self.size))

    def only(self, row: int) -> Nodes:
        return Nodes(self, slice(row, row + 1))

    def imagined(self, as_told: Imagined) -> Nodes:
        return Nodes(self, as_told.rows, as_told)

    def without_lower(
        self, priority: int, rows: Rows, coming: Mapping[str, Sequence[PodInfo]], memory: Memory | None = None
    ) -> Worlds:
        """These nodes without pods of a lower priority than this. `coming`: pods that come there, by the name of the node."""
        slots = self.placed.below(priority, rows)
        return Worlds(self, rows, slots, self._coming(rows, coming, priority), memory or self.memory())

    def with_coming(self, rows: Rows, coming: Mapping[str, Sequence[PodInfo]]) -> Worlds:
        """These nodes with what is there, and with pods that come there, by the name of the node."""
        slots = np.full((len(rows), 0), -1)
        return Worlds(self, rows, slots, self._coming(rows, coming), self.memory())

    def _coming(
        self, rows: Rows, coming: Mapping[str, Sequence[PodInfo]], below: float = -math.inf
    ) -> list[tuple[int, PodInfo]]:
        """By position. Not those that are there already, unless their priority is below this."""
        places = {self.names[row]: position for position, row in enumerate(rows.tolist())} if coming else {}
        return [
            (places[node], pod)
            for node, pods in coming.items()
            if node in places
            for pod in pods
            if (there := self.pods[self.rows[node]].get(pod.key)) is None or there.priority < below
        ]

    def memory(self) -> Memory:
        """For several questions, one after the other, while nothing changes."""
        return Memory(self.placed.kinds)

    def node(self, name: str) -> Obj | None:
        row = self.rows.get(name)
        return None if row is None else self.objects[row]

    def present_pods(self) -> Iterator[tuple[int, PodInfo]]:
        for row, pods in enumerate(self.pods):
            for pod in pods.values():
                yield row, pod

    def matching(self, key: CountKey) -> Numbers:
        return self._counts.of(key, self.placed)

    def resource(self, name: str) -> int:
        """The row of this resource in `allocatable` and `requested`; made if there is none."""
        at = self.resources.get(name)
        if at is None:
            at = self.resources[name] = len(self.resources)
            more: Numbers = np.zeros((1, self.capacity), np.int64)
            self.allocatable = np.vstack((self.allocatable, more))
            self.requested = np.vstack((self.requested, more))
        return at

    def set_node(self, node: Obj) -> None:
        """A node is new or has changed."""
        name = node["metadata"]["name"]
        row = self._row(name)
        old: Obj = self.objects[row] or {"metadata": {}, "spec": {}, "status": {}}
        if self.objects[row] is None:
            self.present[row] = True
            self.count += 1
        self.objects[row] = node
        self._describe(row, old, node)

    def remove_node(self, name: str) -> None:
        row = self.rows.get(name)
        old = self.objects[row] if row is not None else None
        if row is None or old is None:
            return
        self.objects[row] = None
        self.present[row] = False
        self.count -= 1
        self._describe(row, old, {"metadata": {}, "spec": {}, "status": {}})
        self._release(name, row)

    def _describe(self, row: int, old: Obj, new: Obj) -> None:
        was, now = old.get("status") or {}, new.get("status") or {}
        self.labels.set(row, old["metadata"].get("labels") or {}, new["metadata"].get("labels") or {})
        self.taints.set(row, taints_of(old), taints_of(new))
        self.images.set(row, was.get("images") or [], now.get("images") or [])
        if bool(self.unschedulable[row]) != (cordoned := bool((new.get("spec") or {}).get("unschedulable"))):
            self.unschedulable[row] = cordoned
            self.cordoned += 1 if cordoned else -1
        before, after = was.get("allocatable") or {}, now.get("allocatable") or {}
        if before != after:
            self._set_allocatable(row, after)

    def _set_allocatable(self, row: int, amounts: Mapping[str, str]) -> None:
        units = in_units({name: quantity.parse(text) for name, text in amounts.items()})
        self.pods_allowed[row] = units.pop("pods", 0)
        self.allocatable[:, row] = 0
        for name, amount in units.items():
            at = self.resource(name)
            self.allocatable[at, row] = amount

    def add_pod(self, pod: PodInfo) -> None:
        """To the node it says it is on, known or not."""
        row = self._row(pod.node)
        self.pods[row][pod.key] = pod
        self.placed.add(pod, row)
        self._count_pod(pod, row, 1)

    def remove_pod(self, pod: PodInfo) -> None:
        """The same value that was added."""
        row = self.rows[pod.node]
        del self.pods[row][pod.key]
        self.placed.remove(pod)
        self._count_pod(pod, row, -1)
        self._release(pod.node, row)

    def _count_pod(self, pod: PodInfo, row: int, sign: int) -> None:
        self.pod_count[row] += sign
        for name, amount in pod.requests.items():
            # First the place, then the array: making a place replaces the array.
            at = self.resource(name)
            self.requested[at, row] += sign * amount
        cpu, memory = pod.scored_requests
        self.scored[CPU, row] += sign * cpu
        self.scored[MEMORY, row] += sign * memory
        self._counts.change(pod, row, sign)
        if pod.affinity:
            self.carried.change(pod.affinity, row, sign)
        for port in pod.host_ports:
            self._count_port(port, row, sign)
        if pod.claims or pod.disks:
            self._count_volumes(pod, row, sign)

    def _count_volumes(self, pod: PodInfo, row: int, sign: int) -> None:
        self.volume_uses[row] += sign * (len(pod.claims) + len(pod.disks))
        for use in pod.claims:
            if not use.ephemeral:
                self.claims[f"{pod.namespace}/{use.name}"] += sign
        for disk in pod.disks:
            name = disk_name(disk)
            if name is None:
                continue
            users = self.disks.setdefault(name, Counter())
            users[row] += sign
            if not users[row]:
                del users[row]
            if not users:
                del self.disks[name]

    def _count_port(self, port: HostPort, row: int, sign: int) -> None:
        place = (port.protocol, port.port)
        by_address = self.ports.setdefault(place, {})
        users = by_address.setdefault(port.address, {})
        users[row] = users.get(row, 0) + sign
        if not users[row]:
            del users[row]
        if not users:
            del by_address[port.address]
        if not by_address:
            del self.ports[place]

    def _row(self, name: str) -> int:
        row = self.rows.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self.size
            if row == self.capacity:
                self._grow(2 * row)
            self.size += 1
            self.names.append(name)
            self.objects.append(None)
            self.pods.append({})
        self.rows[name] = row
        self.membership += 1
        return row

    def _release(self, name: str, row: int) -> None:
        """Its row is free once neither the node nor pods on it are left."""
        if self.objects[row] is None and not self.pods[row]:
            del self.rows[name]
            self._free.append(row)

    def _grow(self, capacity: int) -> None:
        for name in (
            "present",
            "unschedulable",
            "pod_count",
            "pods_allowed",
            "allocatable",
            "requested",
            "scored",
            "volume_uses",
        ):
            setattr(self, name, grown(getattr(self, name), capacity))
        for part in (self.labels, self.taints, self.images, self.carried, self._counts):
            part.grow(capacity)
