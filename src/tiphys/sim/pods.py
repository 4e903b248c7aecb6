"""What becomes of a pod of a simulated node next: decided from what stands in the API alone, so that a fleet that was stopped
goes on where it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj
from tiphys.sim import PREFIX

_FIRST_BACK_OFF, _LONGEST_BACK_OFF = 10.0, 300.0
_KILLED = 137
_DEADLINE = "Pod was active on the node longer than the specified deadline"
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    pod: str
    """The address that the pod has, or gets if it has none."""


@dataclass(frozen=True, slots=True)
class Step:
    status: Obj | None = None
    """To be written; None: it is as it should be."""
    delete: bool = False
    """Then the pod is gone for good."""
    at: float | None = None
    """When something is due by time alone."""


@dataclass(frozen=True, slots=True)
class Wish:
    start: float
    run: float | None
    code: int
    stop: float


def wish(pod: Obj) -> Wish:
    told = meta.annotations(pod)

    def number(name: str) -> float | None:
        try:
            return max(0.0, float(told[PREFIX + name]))
        except (KeyError, ValueError):
            return None

    return Wish(
        number("start-seconds") or 0.0, number("run-seconds"), int(number("exit-code") or 0), number("stop-seconds") or 0.0
    )


def step(pod: Obj, place: Place, now: float) -> Step:
    status = pod.get("status") or {}
    wanted = wish(pod)
    ended = status.get("phase") in ("Succeeded", "Failed")
    if meta.is_deleting(pod):
        return _leave(pod, place, wanted, now, ended=ended)
    if ended:
        return Step()
    began = _time(status.get("startTime"))
    if began is None:
        began = now
    deadline = pod["spec"].get("activeDeadlineSeconds")
    ends = began + deadline if deadline is not None else None
    if ends is not None and now >= ends:
        failed = _ended(pod, place, _KILLED, now, phase="Failed")
        return Step(_changed(pod, {**failed, "reason": "DeadlineExceeded", "message": _DEADLINE}))
    due = _live(pod, place, wanted, began, now)
    at = min((each for each in (due.at, ends) if each is not None), default=None)
    return Step(due.status, at=at)


def _leave(pod: Obj, place: Place, wanted: Wish, now: float, *, ended: bool) -> Step:
    if ended:
        return Step(delete=True)
    grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    asked = times.parse(pod["metadata"]["deletionTimestamp"]) - grace
    stops = asked + min(wanted.stop, grace)
    if now < stops:
        return Step(at=stops)
    if not (pod.get("status") or {}).get("containerStatuses"):
        return Step(delete=True)
    code = _KILLED if wanted.stop > grace else 0
    return Step(_changed(pod, _ended(pod, place, code, now)), delete=True)


def _live(pod: Obj, place: Place, wanted: Wish, began: float, now: float) -> Step:
    if now < began + wanted.start:
        waiting = {"waiting": {"reason": "ContainerCreating"}}
        status = _status(pod, place, "Pending", began, [_container(pod, each, waiting) for each in _mains(pod)], now)
        return Step(_changed(pod, status), at=began + wanted.start)
    held = _held(pod)
    last = held.get(_mains(pod)[0]["name"]) or {}
    state = last.get("state") or {}
    restarts = int(last.get("restartCount") or 0)
    running_since = _time((state.get("running") or {}).get("startedAt"))
    if running_since is None:
        until = _back_off_ends(last)
        if until is not None and now < until:
            return Step(at=until)
        running_since = now
        restarts += 1 if last.get("lastState") or state.get("terminated") else 0
    if wanted.run is None or now < running_since + wanted.run:
        up = {"running": {"startedAt": times.rfc3339(running_since)}}
        containers = [_container(pod, each, up, restarts=restarts) for each in _mains(pod)]
        at = running_since + wanted.run if wanted.run is not None else None
        return Step(_changed(pod, _status(pod, place, "Running", began, containers, now)), at=at)
    return _ran_out(pod, place, wanted, began, running_since, restarts, now)


def _ran_out(pod: Obj, place: Place, wanted: Wish, began: float, since: float, restarts: int, now: float) -> Step:
    """The containers have ended by themselves: for good, or to come again."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" or (policy == "OnFailure" and wanted.code == 0):
        phase = "Failed" if wanted.code else "Succeeded"
        return Step(_changed(pod, _ended(pod, place, wanted.code, now, phase=phase, since=since)))
    over = _terminated(wanted.code, since, now)
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}}
    containers = [_container(pod, each, waits, restarts=restarts, last=over) for each in _mains(pod)]
    status = _status(pod, place, "Running", began, containers, now)
    return Step(_changed(pod, status), at=now + _back_off(restarts))


def _back_off(restarts: int) -> float:
    """The first restart comes at once, the next ones later and later."""
    return min(_FIRST_BACK_OFF * 2 ** (min(restarts, 10) - 1), _LONGEST_BACK_OFF) if restarts else 0.0


def _back_off_ends(container: Obj) -> float | None:
    finished = _time(((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
    return finished + _back_off(int(container.get("restartCount") or 0)) if finished is not None else None


def _ended(pod: Obj, place: Place, code: int, now: float, *, phase: str = "", since: float | None = None) -> Obj:
    """Every container has ended with this code."""
    status = pod.get("status") or {}
    began = _time(status.get("startTime"))
    held = _held(pod)

    def over(container: Obj) -> Obj:
        up = ((held.get(container["name"]) or {}).get("state") or {}).get("running") or {}
        started = _time(up.get("startedAt"))
        first = started if started is not None else since if since is not None else now
        count = int((held.get(container["name"]) or {}).get("restartCount") or 0)
        return _container(pod, container, _terminated(code, first, now), restarts=count)

    containers = [over(each) for each in _mains(pod)]
    told = phase or ("Failed" if code else "Succeeded")
    return _status(pod, place, told, began if began is not None else now, containers, now)


def _status(pod: Obj, place: Place, phase: str, began: float, containers: Sequence[Obj], now: float) -> Obj:
    before = pod.get("status") or {}
    status = {**before, "phase": phase, "startTime": before.get("startTime") or times.rfc3339(began)}
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    status["hostIP"], status["hostIPs"] = place.host, [{"ip": place.host}]
    if phase != "Pending":
        own = place.host if pod["spec"].get("hostNetwork") else place.pod
        status["podIP"], status["podIPs"] = own, [{"ip": own}]
    status["containerStatuses"] = list(containers)
    if pod["spec"].get("initContainers"):
        status["initContainerStatuses"] = [
            _first_container(pod, each, phase, began, now) for each in pod["spec"]["initContainers"]
        ]
    status["conditions"] = _conditions(pod, phase, containers, now)
    return status


def _conditions(pod: Obj, phase: str, containers: Sequence[Obj], now: float) -> list[Obj]:
    held = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
    up = all(each["ready"] for each in containers)
    gates = [each["conditionType"] for each in pod["spec"].get("readinessGates") or ()]
    open_gates = all((held.get(gate) or {}).get("status") == "True" for gate in gates)
    ended = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "")
    unready = ended or ("" if up else "ContainersNotReady")
    verdicts = {
        "PodReadyToStartContainers": (phase == "Running", ""),
        "Initialized": (phase != "Pending", ended if phase == "Succeeded" else ""),
        "Ready": (up and open_gates, unready or ("" if open_gates else "ReadinessGatesNotReady")),
        "ContainersReady": (up, unready),
        "PodScheduled": (True, ""),
    }
    told = []
    for kind in _CONDITIONS:
        value, reason = verdicts[kind]
        word = "True" if value else "False"
        old = held.get(kind)
        since = old["lastTransitionTime"] if old is not None and old.get("status") == word else times.rfc3339(now)
        condition: Obj = {"type": kind, "status": word, "lastProbeTime": None, "lastTransitionTime": since}
        told.append({**condition, "reason": reason} if reason else condition)
    return [*told, *(each for kind, each in held.items() if kind not in verdicts)]


def _container(pod: Obj, spec: Obj, state: Obj, *, restarts: int = 0, last: Obj | None = None) -> Obj:
    before = _held(pod).get(spec["name"]) or {}
    return {
        "name": spec["name"],
        "image": spec.get("image", ""),
        "imageID": "",
        "containerID": f"sim://{meta.uid(pod)}/{spec['name']}/{restarts}",
        "ready": "running" in state,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last if last is not None else before.get("lastState") or {},
    }


def _first_container(pod: Obj, spec: Obj, phase: str, began: float, now: float) -> Obj:
    """An init container has done its work when the others run; a sidecar runs beside them."""
    sidecar = spec.get("restartPolicy") == "Always"
    if phase == "Pending":
        return _container(pod, spec, {"waiting": {"reason": "PodInitializing"}})
    if sidecar and phase == "Running":
        return _container(pod, spec, {"running": {"startedAt": times.rfc3339(began)}})
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or ()
    held = next((each.get("state") or {} for each in statuses if each["name"] == spec["name"]), None)
    done = held.get("terminated") if held is not None else None
    state = {"terminated": done} if done else _terminated(0, began, began if not sidecar else now)
    return {**_container(pod, spec, state), "ready": not sidecar, "started": False}


def _terminated(code: int, since: float, now: float) -> Obj:
    reason = "Error" if code else "Completed"
    stamps = {"startedAt": times.rfc3339(since), "finishedAt": times.rfc3339(now)}
    return {"terminated": {"exitCode": code, "reason": reason, **stamps}}


def _mains(pod: Obj) -> Sequence[Obj]:
    containers: Sequence[Obj] = pod["spec"]["containers"]
    return containers


def _held(pod: Obj) -> dict[str, Obj]:
    return {each["name"]: each for each in (pod.get("status") or {}).get("containerStatuses") or ()}


def _changed(pod: Obj, status: Obj) -> Obj | None:
    return None if status == pod.get("status") else status


def _time(text: str | None) -> float | None:
    return times.parse(text) if text else None
