"""Pods for which room is being made: each keeps others of no higher priority off the room it waits for."""

from collections.abc import Iterator

from tiphys.scheduler.pod_info import PodInfo


class Nominations:
    def __init__(self) -> None:
        self._on: dict[str, dict[str, PodInfo]] = {}
        self._where: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._where)

    def put(self, pod: PodInfo, node: str) -> None:
        """An empty `node` takes it away."""
        self.drop(pod.uid)
        if node:
            self._on.setdefault(node, {})[pod.uid] = pod
            self._where[pod.uid] = node

    def drop(self, uid: str) -> None:
        node = self._where.pop(uid, None)
        if node is not None:
            del self._on[node][uid]
            if not self._on[node]:
                del self._on[node]

    def node_of(self, uid: str) -> str:
        return self._where.get(uid, "")

    def on(self, node: str) -> list[PodInfo]:
        return list(self._on.get(node, {}).values())

    def before(self, pod: PodInfo) -> Iterator[tuple[str, list[PodInfo]]]:
        """Per node, those that come before this pod."""
        for node, waiting in self._on.items():
            first = [each for each in waiting.values() if each.priority >= pod.priority and each.uid != pod.uid]
            if first:
                yield node, first
