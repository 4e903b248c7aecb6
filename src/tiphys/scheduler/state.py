"""All that the scheduler knows, and how each event changes it. The loop feeds it; it asks nobody."""

from collections.abc import Callable, Mapping

from tiphys.api.core.pods import facts
from tiphys.machinery.tree import Obj
from tiphys.scheduler import events, pod_info
from tiphys.scheduler.cache import PodCache
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.cycle import Cycle
from tiphys.scheduler.decision import Decisions
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Profile
from tiphys.scheduler.node_table import NodeTable
from tiphys.scheduler.nominations import Nominations
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.queue import INITIAL_BACKOFF, LONGEST_BACKOFF, Queue


class State:
    def __init__(
        self,
        profiles: Callable[[Cluster], Mapping[str, Profile]],
        choose: Callable[[int], int],
        backoff: tuple[float, float] = (INITIAL_BACKOFF, LONGEST_BACKOFF),
    ) -> None:
        """`backoff`: seconds after the first refusal, and at the most."""
        self.cluster = Cluster(choose)
        self.table = NodeTable()
        self.pods = PodCache(self.table)
        self.nominations = Nominations()
        self.profiles = profiles(self.cluster)
        self.queue = Queue(self.profiles, *backoff)
        self.trying: dict[str, PodInfo | None] = {}
        """By uid: pods out of the queue that somebody is asked about, as they are now; None once they need no node any more."""
        self.decisions = Decisions()
        self.cycles = {
            name: Cycle(self.table, profile, self.cluster, self.nominations, choose) for name, profile in self.profiles.items()
        }

    def node_changed(self, old: Obj | None, new: Obj | None, now: float) -> None:
        if new is None:
            assert old is not None
            self.table.remove_node(old["metadata"]["name"])
            self.queue.happened(Change(Event.NODE_DELETED, old, None), now)
            return
        self.table.set_node(new)
        if old is None:
            self.queue.happened(Change(Event.NODE_ADDED, None, new), now)
            return
        for event in events.node_changes(old, new):
            self.queue.happened(Change(event, old, new), now)

    def pod_changed(self, old: Obj | None, new: Obj | None, now: float) -> None:
        """Pods that are finished count as gone."""
        if old is not None and facts.is_finished(old):
            old = None
        if new is not None and facts.is_finished(new):
            new = None
        if new is None:
            if old is not None:
                self._pod_gone(old, now)
            return
        pod = pod_info.of(new)
        if pod.node:
            self._on_a_node(pod, old, now)
        elif pod.scheduler in self.profiles:
            self._waiting(pod, old, now)

    def _on_a_node(self, pod: PodInfo, old: Obj | None, now: float) -> None:
        known = self.pods.get(pod.uid)
        news = known is None or self.pods.is_assumed(pod.uid) or (old is not None and not old["spec"].get("nodeName"))
        self.pods.put(pod)
        if news:
            self._not_tried(pod.uid)
            self.queue.remove(pod.uid)
            self.nominations.drop(pod.uid)
            self.queue.happened(Change(Event.POD_ADDED, None, pod.obj, None, pod), now)
            return
        assert known is not None
        for event in events.pod_changes(known, pod):
            self.queue.happened(Change(event, known.obj, pod.obj, known, pod), now)

    def _waiting(self, pod: PodInfo, old: Obj | None, now: float) -> None:
        if self.pods.is_assumed(pod.uid):
            if pod.deleting:
                self._freed(self.pods.remove(pod.uid), now)
            return
        # A nomination of ours may still be on its way to the API server: only a change there takes it away.
        before_it = ((old or {}).get("status") or {}).get("nominatedNodeName") or ""
        ours = self.nominations.node_of(pod.uid) if not pod.nominated and not before_it else ""
        self.nominations.put(pod, pod.nominated or ours)
        if pod.uid in self.trying:
            self.trying[pod.uid] = pod
            return
        queued = self.queue.get(pod.uid)
        if queued is None:
            if not pod.deleting or old is None:
                self.queue.add(pod, now)
            return
        before = queued.pod
        self.queue.update(before, pod, events.pod_changes(before, pod), now)
        if before.nominated and before.nominated != pod.nominated:
            self._freed(before, now)

    def _pod_gone(self, old: Obj, now: float) -> None:
        uid = old["metadata"].get("uid", "")
        self._not_tried(uid)
        self.queue.remove(uid)
        self.nominations.drop(uid)
        self._freed(self.pods.remove(uid) or pod_info.of(old), now)

    def _not_tried(self, uid: str) -> None:
        if uid in self.trying:
            self.trying[uid] = None

    def _freed(self, pod: PodInfo | None, now: float) -> None:
        if pod is not None and (pod.node or pod.nominated):
            self.queue.happened(Change(Event.POD_DELETED, pod.obj, None, pod, None), now)

    def storage_changed(self, event: Event, old: Obj | None, new: Obj | None, now: float) -> None:
        """After it has been put where plugins find it. Nobody is helped by something that has gone, but by room on a node."""
        if (new is None) is (event is Event.VOLUME_DETACHED):
            self.queue.happened(Change(event, old, new), now)

    def unbound(self, pod: PodInfo, now: float) -> None:
        """A binding failed: the room is free again."""
        placed = self.pods.get(pod.uid)
        if self.pods.forget(pod.uid):
            self._freed(placed, now)
