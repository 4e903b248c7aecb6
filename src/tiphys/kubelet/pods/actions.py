"""What to do next for a pod that is to run: which containers to stop, whether it needs a (new) sandbox, what to start.

    plan = actions(pod, observed, memory, now)

The answer depends on the arguments alone; a worker carries it out, looks again, and asks again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.kubelet.cri.observed import CONTAINER_HASH, Container, ObservedPod, Sandbox
from tiphys.kubelet.pods.hashing import container_hash
from tiphys.kubelet.pods.resizing import Change, InForce, changes
from tiphys.kubelet.pods.restarts import RESTART_ALL, BackOff, is_sidecar, restarts, restarts_init, rule_action
from tiphys.machinery.tree import Obj

_RESIZED = "Container {} resize requires restart"


@dataclass(frozen=True, slots=True)
class Memory:
    """What a worker knows beside what the runtime says."""

    back_offs: Mapping[str, BackOff] = field(default_factory=dict)
    unhealthy: Mapping[str, str] = field(default_factory=dict)
    """Container id -> which probe gave it up (`liveness` or `startup`)."""
    started: frozenset[str] = frozenset()
    """Ids of containers that have passed their startup probe (or have none)."""
    in_force: InForce = field(default_factory=InForce)
    """The resources of those that run."""


@dataclass(frozen=True, slots=True)
class Kill:
    container: Container
    why: str
    """For the event."""


@dataclass(frozen=True, slots=True)
class Actions:
    kill: tuple[Kill, ...] = ()
    stop_pod: bool = False
    """Everything that is left of it, before a new sandbox or because it is over."""
    create_sandbox: bool = False
    attempt: int = 0
    """Of the new sandbox."""
    anew: tuple[Container, ...] = ()
    """All of them, in the order in which they are taken away: one has ended in a way that makes the whole pod begin again."""
    start: tuple[str, ...] = ()
    resize: tuple[Change, ...] = ()
    waiting: Mapping[str, float] = field(default_factory=dict)
    """Containers in back-off, and the seconds that are left."""
    remove: tuple[str, ...] = ()
    """Ids of dead containers that nobody needs any more."""
    remove_sandboxes: tuple[str, ...] = ()
    """Of those before the one that counts, the empty ones."""

    @property
    def again_in(self) -> float | None:
        """When the passing of time alone changes the answer."""
        return min(self.waiting.values(), default=None)


def actions(pod: Obj, observed: ObservedPod, memory: Memory, now: float) -> Actions:
    sandbox = observed.sandbox
    if sandbox is None:
        return _without_sandbox(pod, observed)
    here = tuple(each for each in observed.containers if each.sandbox_id == sandbox.id)
    anew = tuple(_anew(pod, here))
    if anew:
        return Actions(anew=anew)
    running = {each.name: each for each in reversed(here)}
    resized = tuple(changes(pod, running, memory.in_force))
    kills = [*_kills(pod, here, memory)]
    kills += [Kill(each.container, _RESIZED.format(each.spec["name"])) for each in resized if each.restart]
    if kills:
        return Actions(kill=tuple(kills))
    begin, waiting = _starts(pod, here, memory, now)
    old = tuple(_superfluous(observed, sandbox))
    empty = tuple(_empty(observed))
    return Actions(start=tuple(begin), resize=resized, waiting=waiting, remove=old, remove_sandboxes=empty)


def _without_sandbox(pod: Obj, observed: ObservedPod) -> Actions:
    spec = pod["spec"]
    alive = any(each.alive for each in observed.containers)
    stop = bool(observed.sandboxes) and alive
    attempt = observed.sandboxes[0].attempt + 1 if observed.sandboxes else 0
    if observed.sandboxes and not _worth_a_new_sandbox(pod, observed):
        return Actions(stop_pod=alive)
    # The order in which things start is decided once the sandbox is there.
    return Actions(stop_pod=stop, create_sandbox=bool(spec["containers"]), attempt=attempt)


def _worth_a_new_sandbox(pod: Obj, observed: ObservedPod) -> bool:
    """Not where a pod that runs once has run: its sandbox may be gone."""
    spec = pod["spec"]
    if spec.get("restartPolicy") == "Never" and observed.containers:
        return False
    for container in spec["containers"]:
        last = observed.newest(container["name"])
        if last is None or last.state != "exited" or restarts(pod, container, last.exit_code):
            return True
    return False


def _kills(pod: Obj, here: tuple[Container, ...], memory: Memory) -> Iterable[Kill]:
    specs = {each["name"]: each for each in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])}
    for running in here:
        spec = specs.get(running.name)
        if spec is None or not running.alive:
            continue
        if running.state == "unknown":
            yield Kill(running, f"Container {running.name} is in unknown state, try killing it before restart")
        elif running.annotations.get(CONTAINER_HASH, container_hash(spec)) != container_hash(spec):
            yield Kill(running, f"Container {running.name} definition changed, will be restarted")
        elif running.id in memory.unhealthy:
            ending = "will be restarted" if restarts(pod, spec, 1) else "will be killed"
            yield Kill(running, f"Container {running.name} failed {memory.unhealthy[running.id]} probe, {ending}")


def _anew(pod: Obj, here: tuple[Container, ...]) -> Iterable[Container]:
    """Those that caused it are the last to go: as long as they are there, the rest is still to be done.

    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-all-containers
    """
    spec = pod["spec"]
    specs = {each["name"]: each for each in (*spec["containers"], *(spec.get("initContainers") or ()))}

    def causes(each: Container) -> bool:
        return each.state == "exited" and rule_action(specs[each.name], each.exit_code) == RESTART_ALL

    known = [each for each in here if each.name in specs]
    newest = {each.name: each for each in reversed(known)}
    if not any(map(causes, newest.values())):
        return ()
    order = list(specs)
    return sorted(known, key=lambda each: (causes(each), order.index(each.name)))


def _starts(pod: Obj, here: tuple[Container, ...], memory: Memory, now: float) -> tuple[list[str], dict[str, float]]:
    newest: dict[str, Container] = {}
    for each in here:
        newest.setdefault(each.name, each)
    begin: list[str] = []
    waiting: dict[str, float] = {}

    def start(name: str) -> None:
        last = newest.get(name)
        left = 0.0
        if last is not None and last.state == "exited":
            left = memory.back_offs.get(name, BackOff()).waits(last.finished_at, now)
        if left:
            waiting[name] = left
        else:
            begin.append(name)

    # Those that somebody has added to look around: each is started once, whatever the others do.
    begin += [each["name"] for each in pod["spec"].get("ephemeralContainers") or () if each["name"] not in newest]
    mains = pod["spec"]["containers"]
    under_way = any(each["name"] in newest for each in mains)
    for spec in pod["spec"].get("initContainers") or ():
        last = newest.get(spec["name"])
        if is_sidecar(spec):
            if last is None or last.state != "running":
                start(spec["name"])
                if not under_way:
                    return begin, waiting
            elif last.id not in memory.started and not under_way:
                return begin, waiting
        elif not under_way and not _finished(last):
            if last is None or last.state == "created" or (last.state == "exited" and restarts_init(pod, spec)):
                start(spec["name"])
            return begin, waiting
    for spec in mains:
        last = newest.get(spec["name"])
        if last is None or last.state == "created" or (last.state == "exited" and restarts(pod, spec, last.exit_code)):
            start(spec["name"])
    return begin, waiting


def _finished(container: Container | None) -> bool:
    return container is not None and container.state == "exited" and container.exit_code == 0


def _empty(observed: ObservedPod) -> Iterable[str]:
    used = {each.sandbox_id for each in observed.containers}
    return (each.id for each in observed.sandboxes[1:] if not each.ready and each.id not in used)


def _superfluous(observed: ObservedPod, sandbox: Sandbox) -> Iterable[str]:
    """Of each name the last run and the one before it are kept: the one for `state`, the other for `lastState`."""
    kept: dict[str, int] = {}
    for each in observed.containers:
        kept[each.name] = kept.get(each.name, 0) + 1
        if kept[each.name] > 2 and not each.alive and (each.state == "exited" or each.sandbox_id != sandbox.id):
            yield each.id
