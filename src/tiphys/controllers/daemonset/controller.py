"""What a DaemonSet does in a turn: whose pods and revisions are these, which revision is the present one, then the work."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.controllers import history
from tiphys.controllers.claims import candidates, claim
from tiphys.controllers.controller import Base, Caches, Watch, own, owned
from tiphys.controllers.daemonset.placing import Fit, fit_of, node_of, pod_for
from tiphys.controllers.daemonset.status import report
from tiphys.controllers.daemonset.sync import Sync
from tiphys.controllers.plan import (
    NAMESPACE_TERMINATING,
    NOT_FOUND,
    NOTHING,
    Create,
    Delete,
    Emit,
    Note,
    Patch,
    Plan,
    Update,
    Write,
    set_status,
)
from tiphys.controllers.pods import next_available
from tiphys.controllers.replicaset import selector_of
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

BURST = 250
"""Most pods that one plan may create or delete; the next one goes on from there."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 900.0


@dataclass(frozen=True, slots=True)
class World:
    daemon_set: Obj
    nodes: tuple[Obj, ...]
    pods: tuple[Obj, ...]
    """Its own, and orphans that it selects."""
    revisions: tuple[Obj, ...]
    """The same of its history."""
    taken: Obj | None
    """What has the name that a new revision would get."""
    waits: Mapping[str, float]
    """Seconds, by uid, before a failed pod may be ended."""
    now: float


@dataclass(frozen=True, slots=True)
class Failing:
    """Of a node: the failed pod that was ended last, when, and how long the next one has to wait."""

    uid: str
    since: float
    wait: float


def _sets_of_node(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """Those for which the node begins or ceases to fit."""
    if old is not None and new is not None and _traits(old) == _traits(new):
        return
    for each in caches[DAEMONSETS]:
        fit = fit_of(each)
        before, after = (_judged(fit, node) for node in (old, new))
        if before != after:
            yield meta.key(each)


def _judged(fit: Fit, node: Obj | None) -> tuple[bool, bool]:
    return (fit.starts_on(node), fit.stays_on(node)) if node is not None else (False, False)


def _traits(node: Obj) -> tuple[object, ...]:
    return meta.labels(node), (node.get("spec") or {}).get("taints") or []


class DaemonSetController(Base):
    name = "daemonset-controller"
    component = "daemonset-controller"
    watches = (
        own(DAEMONSETS),
        owned(PODS, DAEMONSETS, selector_of=selector_of),
        owned(CONTROLLERREVISIONS, DAEMONSETS, selector_of=selector_of),
        Watch(NODES, _sets_of_node),
    )

    def __init__(self) -> None:
        self._failing: dict[str, dict[tuple[int, str], Failing]] = {}
        """By key: nodes on which pods of a generation have failed."""

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        daemon_set = caches[DAEMONSETS].get(key)
        if daemon_set is None:
            self._failing.pop(key, None)
            return None
        selector = selector_of(daemon_set)
        pods = candidates(caches[PODS], daemon_set, selector)
        revisions = candidates(caches[CONTROLLERREVISIONS], daemon_set, selector)
        data, taken = history.data_of(daemon_set), None
        if not any(history.matches(each, data) for each in revisions):
            name = history.name_of(daemon_set, _digest(daemon_set))
            taken = caches[CONTROLLERREVISIONS].get(f"{meta.namespace(daemon_set)}/{name}")
        waits = {
            meta.uid(pod): self._wait(key, daemon_set, pod, now)
            for pod in pods
            if facts.phase(pod) == "Failed" and not facts.is_deleting(pod)
        }
        return World(daemon_set, tuple(caches[NODES]), pods, revisions, taken, waits, now)

    def _wait(self, key: str, daemon_set: Obj, pod: Obj, now: float) -> float:
        """Each failure on a node lets the next one wait twice as long."""
        place = (daemon_set.get("status") or {}).get("observedGeneration", 0), node_of(pod)
        known = self._failing.setdefault(key, {}).get(place)
        if known is not None and known.uid == meta.uid(pod):
            return 0.0
        if known is None or now - known.since > 2 * _LONGEST_WAIT:
            wait = _FIRST_WAIT
        elif now - known.since < known.wait:
            return known.since + known.wait - now
        else:
            wait = min(2 * known.wait, _LONGEST_WAIT)
        self._failing[key][place] = Failing(meta.uid(pod), now, wait)
        return 0.0

    @staticmethod
    def reconcile(world: World) -> Plan:
        daemon_set, selector = world.daemon_set, selector_of(world.daemon_set)
        if not any((daemon_set["spec"].get("selector") or {}).values()):
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            return Plan((Emit(Note(daemon_set, "SelectingAll", message, "Warning")),))
        if meta.is_deleting(daemon_set):
            # Its history may be gone before its pods are: nothing could be said of them.
            return NOTHING
        past = claim(CONTROLLERREVISIONS, world.revisions, DAEMONSETS, daemon_set, selector)
        pods = claim(PODS, world.pods, DAEMONSETS, daemon_set, selector)
        if past.writes or pods.writes:
            # What is adopted gets a further version; the rest is decided once it is here.
            return Plan((*past.writes, *pods.writes))
        data = history.data_of(daemon_set)
        current = history.in_order(each for each in past.mine if history.matches(each, data))
        old = [each for each in past.mine if not history.matches(each, data)]
        tidy = _tidy_history(world, pods.mine, current, old)
        if tidy:
            return Plan(tidy)
        return _run(world, pods.mine, current[-1], old)


def _digest(daemon_set: Obj) -> str:
    return history.digest(history.data_of(daemon_set), history.collisions(daemon_set))


def _tidy_history(world: World, pods: Sequence[Obj], current: list[Obj], old: list[Obj]) -> tuple[Write, ...]:
    """Until exactly one revision is of the present template, the newest, and each can be found among labels of pods."""
    daemon_set = world.daemon_set
    if not current and world.taken is not None:
        # Two templates with one hash: count it, and the next name is another one.
        count = history.collisions(daemon_set) + 1
        return (set_status(DAEMONSETS, daemon_set, {**(daemon_set.get("status") or {}), "collisionCount": count}),)
    if not current:
        number = history.next_number(old)
        return (history.create(DAEMONSETS, daemon_set, _digest(daemon_set), history.HASH_LABEL, number),)
    unnamed = [each for each in (*current, *old) if history.HASH_LABEL not in meta.labels(each)]
    if unnamed:
        return tuple(_labelled(each) for each in unnamed)
    *doubles, kept = current
    if doubles:
        return (*_relabel(pods, doubles, kept), *(Delete(CONTROLLERREVISIONS, each) for each in doubles))
    if history.number(kept) < history.next_number(old):
        return (history.renumber(kept, history.next_number(old)),)
    return ()


def _labelled(revision: Obj) -> Update:
    labels = {**meta.labels(revision), history.HASH_LABEL: meta.name(revision)}
    return Update(CONTROLLERREVISIONS, {**revision, "metadata": {**revision["metadata"], "labels": labels}})


def _relabel(pods: Sequence[Obj], doubles: list[Obj], kept: Obj) -> Iterable[Write]:
    digests = {meta.labels(each)[history.HASH_LABEL] for each in doubles}
    change = {history.HASH_LABEL: meta.labels(kept)[history.HASH_LABEL]}
    for pod in pods:
        if meta.labels(pod).get(history.HASH_LABEL) in digests:
            yield Patch(PODS, pod, {"metadata": {"uid": meta.uid(pod), "labels": change}}, tolerate=NOT_FOUND)


def _run(world: World, pods: Sequence[Obj], current: Obj, old: list[Obj]) -> Plan:
    daemon_set, now = world.daemon_set, world.now
    digest, fit = meta.labels(current)[history.HASH_LABEL], fit_of(daemon_set)
    on: dict[str, list[Obj]] = {}
    for pod in pods:
        if not (facts.is_finished(pod) and facts.is_deleting(pod)) and node_of(pod):
            on.setdefault(node_of(pod), []).append(pod)
    starts = [meta.name(node) for node in world.nodes if fit.starts_on(node)]
    sync = Sync(daemon_set, digest, fit, world.nodes, starts, on, world.waits, now)
    sync.decide()
    status = report(daemon_set, digest, starts, world.nodes, on, now)
    used = {meta.labels(pod).get(history.HASH_LABEL) for pod in pods}
    unused = [each for each in old if meta.labels(each)[history.HASH_LABEL] not in used]
    excess = len(old) - daemon_set["spec"].get("revisionHistoryLimit", 10)
    writes = [
        *((set_status(DAEMONSETS, daemon_set, status),) if status is not None else ()),
        *sync.told,
        *(_create(daemon_set, node, digest) for node in sync.wanted[:BURST]),
        *(_delete(daemon_set, pod) for pod in sync.unwanted[:BURST]),
        *history.surplus(unused, excess),
    ]
    waits = [wait for wait in world.waits.values() if wait]
    coming = next_available(pods, daemon_set["spec"].get("minReadySeconds", 0), now)
    return Plan(tuple(writes), again_in=min((*waits, *((coming,) if coming else ())), default=None))


def _create(daemon_set: Obj, node: str, digest: str) -> Create:
    return Create(
        PODS,
        pod_for(daemon_set, node, digest),
        done=Note(daemon_set, "SuccessfulCreate", "Created pod: {name}"),
        failed=Note(daemon_set, "FailedCreate", "Error creating: {error}", "Warning"),
        tolerate=NAMESPACE_TERMINATING,
    )


def _delete(daemon_set: Obj, pod: Obj) -> Delete:
    return Delete(
        PODS,
        pod,
        done=Note(daemon_set, "SuccessfulDelete", f"Deleted pod: {meta.name(pod)}"),
        failed=Note(daemon_set, "FailedDelete", "Error deleting: {error}", "Warning"),
    )
