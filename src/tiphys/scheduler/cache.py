"""Which pods are on which nodes: as the API server tells it, and, a step ahead, as the scheduler has decided it."""

from tiphys.scheduler import pod_info
from tiphys.scheduler.node_table import NodeTable
from tiphys.scheduler.pod_info import PodInfo


class PodCache:
    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._pods: dict[str, PodInfo] = {}
        self._assumed: set[str] = set()

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> PodInfo | None:
        return self._pods.get(uid)

    def is_assumed(self, uid: str) -> bool:
        """Decided, but not yet heard back from the API server."""
        return uid in self._assumed

    def assume(self, pod: PodInfo, node: str) -> PodInfo:
        placed = pod_info.on(pod, node)
        self._put(placed)
        self._assumed.add(pod.uid)
        return placed

    def forget(self, uid: str) -> bool:
        """The decision could not be carried out. False if the API server has confirmed it meanwhile."""
        if uid not in self._assumed:
            return False
        self.remove(uid)
        return True

    def put(self, pod: PodInfo) -> None:
        """As the API server tells it."""
        self._assumed.discard(pod.uid)
        self._put(pod)

    def remove(self, uid: str) -> PodInfo | None:
        self._assumed.discard(uid)
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._table.remove_pod(pod)
        return pod

    def _put(self, pod: PodInfo) -> None:
        old = self._pods.get(pod.uid)
        if old is not None:
            self._table.remove_pod(old)
        self._pods[pod.uid] = pod
        self._table.add_pod(pod)
