"""The status of each container, in upstream's words (pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.names import shown
from tiphys.kubelet.pods.resizing import InForce
from tiphys.kubelet.pods.restarts import BackOff, is_sidecar, restarts, restarts_init
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a container could not be started."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Health:
    """What probes say, by container id."""

    ready: frozenset[str] = frozenset()
    started: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What the worker knows of its containers beside what the runtime says."""

    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    back_offs: Mapping[str, BackOff] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    """In back-off."""
    health: Health = field(default_factory=Health)
    in_force: InForce = field(default_factory=InForce)
    ending: bool = False
    """Nothing is started any more."""
    anew: bool = False
    """All containers are taken away, to begin again."""
    previous: Mapping[str, Obj] = field(default_factory=dict)
    """Statuses that have been told: of containers whose remains are gone they are all there is."""


def container_statuses(pod: Obj, specs: Sequence[Obj], observed: ObservedPod, known: Known, *, init: bool) -> list[Obj]:
    """In the order of the names, as upstream sorts them; init containers in theirs."""
    made = [_status(pod, spec, observed, known, init=init) for spec in specs]
    return made if init else sorted(made, key=lambda each: str(each["name"]))


def _status(pod: Obj, spec: Obj, observed: ObservedPod, known: Known, *, init: bool) -> Obj:
    runs = [each for each in observed.containers if each.name == spec["name"]]
    sandbox = observed.sandbox
    if sandbox is not None and runs and runs[0].sandbox_id != sandbox.id and not known.ending and not init:
        # It ran in a sandbox that is gone, and will run again in this one.
        return _waiting(pod, spec, known, runs[0])
    if not runs and "terminated" in (known.previous.get(spec["name"]) or {}).get("state", {}):
        return known.previous[spec["name"]]
    if not runs and known.anew and spec["name"] in known.previous:
        return _taken_away(known.previous[spec["name"]])
    if not runs or (runs[0].state == "created" and len(runs) == 1):
        return _never_ran(pod, spec, runs, known)
    newest = runs[1] if runs[0].state == "created" else runs[0]
    if newest.state == "exited" and not known.ending and _comes_back(pod, spec, newest, known, init=init):
        return _waiting(pod, spec, known, newest)
    older = next((each for each in runs if each.created_at < newest.created_at and each.state == "exited"), None)
    status = _base(spec, newest, known)
    status["state"] = _state(newest)
    status["lastState"] = {"terminated": _terminated(older)} if older is not None else {}
    running = newest.state == "running"
    started = running and newest.id in known.health.started
    if init and not is_sidecar(spec):
        status["ready"] = newest.state == "exited" and newest.exit_code == 0
        status["started"] = started
    else:
        status["ready"] = running and newest.id in known.health.ready
        status["started"] = started
    return status


def _comes_back(pod: Obj, spec: Obj, ended: Container, known: Known, *, init: bool) -> bool:
    """Whether `waiting` tells more than `terminated`: it is to be started, and something is in its way."""
    if spec["name"] not in known.troubles and spec["name"] not in known.waiting:
        return False
    if init and not is_sidecar(spec):
        return ended.exit_code != 0 and restarts_init(pod, spec)
    return restarts(pod, spec, ended.exit_code)


def _base(spec: Obj, run: Container, known: Known) -> Obj:
    given = spec.get("resources") or {}
    made: Obj = {
        "name": spec["name"],
        "restartCount": run.restarts,
        "image": run.image or spec["image"],
        "imageID": run.image_id,
        "containerID": f"containerd://{run.id}",
        "resources": known.in_force.of(run, spec) if run.state == "running" else given,
    }
    if given.get("requests"):
        made["allocatedResources"] = given["requests"]
    return {**made, **_mounts(spec)}


def _mounts(spec: Obj) -> Obj:
    """https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts"""
    told = []
    for each in spec.get("volumeMounts") or ():
        made = {"name": each["name"], "mountPath": each["mountPath"]}
        if each.get("readOnly"):
            made.update(readOnly=True, recursiveReadOnly="Disabled")
        told.append(made)
    return {"volumeMounts": told} if told else {}


def _waiting(pod: Obj, spec: Obj, known: Known, ended: Container) -> Obj:
    status = _base(spec, ended, known)
    name = spec["name"]
    if name in known.waiting and name not in known.troubles:
        delay = known.back_offs.get(name, BackOff()).delay
        told = f"back-off {_spell(delay)} restarting failed container={name} pod={shown(pod)}"
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": told}}
    else:
        state = {"waiting": _why(pod, known.troubles.get(name))}
    status["state"] = state
    status["lastState"] = {"terminated": _terminated(ended)} if ended.state == "exited" else {}
    status["ready"] = status["started"] = False
    return status


def _taken_away(before: Obj) -> Obj:
    if "waiting" in before["state"]:
        return before
    words = {"reason": "RestartingAllContainers", "message": "The container is removed because RestartAllContainers in place"}
    return {
        **before,
        "restartCount": before["restartCount"] + 1,
        "state": {"waiting": words},
        "lastState": {"terminated": {**words, "exitCode": 137, "startedAt": None, "finishedAt": None}},
        "ready": False,
        "started": False,
    }


def _never_ran(pod: Obj, spec: Obj, runs: list[Container], known: Known) -> Obj:
    before = known.previous.get(spec["name"]) or {}
    return {
        "name": spec["name"],
        "restartCount": runs[0].restarts if runs else before.get("restartCount", 0),
        "image": spec["image"],
        "imageID": "",
        "state": {"waiting": _why(pod, known.troubles.get(spec["name"]))},
        "lastState": before.get("lastState") or {},
        "ready": False,
        "started": False,
        **_mounts(spec),
    }


def _why(pod: Obj, trouble: Trouble | None) -> Obj:
    if trouble is not None:
        return {"reason": trouble.reason, "message": trouble.message} if trouble.message else {"reason": trouble.reason}
    return {"reason": "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"}


def _state(run: Container) -> Obj:
    if run.state == "running":
        return {"running": {"startedAt": rfc3339(run.started_at)}}
    if run.state == "exited":
        return {"terminated": _terminated(run)}
    return {"waiting": {"reason": "ContainerCreating"}}


def _terminated(run: Container) -> Obj:
    told: Obj = {"exitCode": run.exit_code, "reason": run.reason or ("Completed" if run.exit_code == 0 else "Error")}
    if run.message:
        told["message"] = run.message
    # A container that never got as far as running has no start.
    told["startedAt"] = rfc3339(run.started_at or run.created_at)
    told["finishedAt"] = rfc3339(run.finished_at)
    told["containerID"] = f"containerd://{run.id}"
    return told


def _spell(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
