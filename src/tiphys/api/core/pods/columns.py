"""The table of pods: one word for what is going on in a pod, reckoned from everything its status says."""

from typing import Any

from tiphys.api.core.pods import facts
from tiphys.api.kind import AGE, Column
from tiphys.machinery import duration, times
from tiphys.machinery.tree import Obj

NONE = "<none>"


class Summary:
    """What the Ready, Status and Restarts columns say of a pod."""

    __slots__ = ("last_restart", "last_sidecar_restart", "ready", "restarts", "sidecar_restarts", "status", "total")

    def __init__(self, pod: Obj) -> None:
        status = pod.get("status") or {}
        spec = pod["spec"]
        sidecars = frozenset(each["name"] for each in spec.get("initContainers") or () if facts.is_restartable(each))
        self.total = len(spec.get("containers") or ()) + len(sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart: str | None = None
        self.sidecar_restarts = 0
        self.last_sidecar_restart: str | None = None
        self.status = status.get("reason") or status.get("phase") or ""
        if _is_gated(status):
            self.status = "SchedulingGated"
        initializing = self._count_init_containers(status, spec, sidecars)
        if not initializing or _has_condition(status, "Initialized"):
            self._count_containers(status)
        if pod["metadata"].get("deletionTimestamp"):
            if status.get("reason") == "NodeLost":
                self.status = "Unknown"
            elif not facts.is_finished(pod):
                self.status = "Terminating"

    def _note_restart(self, container: Obj) -> None:
        self.restarts += container.get("restartCount") or 0
        self.last_restart = _later(self.last_restart, _last_end(container))

    def _count_init_containers(self, status: Obj, spec: Obj, sidecars: frozenset[str]) -> bool:
        """Whether one of them is not through yet; the status then tells of that one."""
        for position, container in enumerate(status.get("initContainerStatuses") or ()):
            self._note_restart(container)
            if container["name"] in sidecars:
                self.sidecar_restarts += container.get("restartCount") or 0
                self.last_sidecar_restart = _later(self.last_sidecar_restart, _last_end(container))
            state = container.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting")
            if ended and not ended.get("exitCode"):
                continue
            if container["name"] in sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if ended:
                self.status = "Init:" + _how_it_ended(ended)
            elif waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.status = "Init:" + waiting["reason"]
            else:
                self.status = f"Init:{position}/{len(spec.get('initContainers') or ())}"
            return True
        return False

    def _count_containers(self, status: Obj) -> None:
        self.restarts, self.last_restart = self.sidecar_restarts, self.last_sidecar_restart
        running, failure = False, ""
        for container in reversed(status.get("containerStatuses") or ()):
            self._note_restart(container)
            state = container.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting")
            if waiting and waiting.get("reason"):
                self.status = waiting["reason"]
            elif ended:
                self.status = _how_it_ended(ended)
                if ended.get("exitCode"):
                    failure = self.status
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.status == "Completed":
            if running and _has_condition(status, "Ready"):
                self.status = "Running"
            elif failure:
                self.status = failure
            elif running:
                self.status = "NotReady"

    def restarts_told(self, now: float) -> str:
        if self.restarts and self.last_restart:
            return f"{self.restarts} ({duration.human(now - times.parse(self.last_restart))} ago)"
        return str(self.restarts)


def _is_gated(status: Obj) -> bool:
    return any(
        each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated"
        for each in status.get("conditions") or ()
    )


def _has_condition(status: Obj, kind: str) -> bool:
    return any(each.get("type") == kind and each.get("status") == "True" for each in status.get("conditions") or ())


def _last_end(container: Obj) -> str | None:
    ended = (container.get("lastState") or {}).get("terminated")
    return ended.get("finishedAt") if ended else None


def _later(one: str | None, other: str | None) -> str | None:
    if other is None:
        return one
    return other if one is None or times.parse(one) < times.parse(other) else one


def _how_it_ended(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"


def _ready(pod: Obj, _now: float) -> str:
    summary = Summary(pod)
    return f"{summary.ready}/{summary.total}"


def _status(pod: Obj, _now: float) -> str:
    return Summary(pod).status


def _restarts(pod: Obj, now: float) -> str:
    return Summary(pod).restarts_told(now)


def _ip(pod: Obj, _now: float) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or NONE


def _node(pod: Obj, _now: float) -> str:
    return pod["spec"].get("nodeName") or NONE


def _nominated(pod: Obj, _now: float) -> str:
    return (pod.get("status") or {}).get("nominatedNodeName") or NONE


def _gates(pod: Obj, _now: float) -> str:
    gates = pod["spec"].get("readinessGates")
    if not gates:
        return NONE
    conditions: dict[Any, Any] = {}
    for each in (pod.get("status") or {}).get("conditions") or ():
        conditions.setdefault(each.get("type"), each.get("status"))
    passed = sum(conditions.get(gate.get("conditionType")) == "True" for gate in gates)
    return f"{passed}/{len(gates)}"


COLUMNS = (
    Column("Ready", _ready, description="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", _status, description="The aggregate status of the containers in this pod."),
    Column(
        "Restarts",
        _restarts,
        description="The number of times the containers in this pod have been restarted "
        "and when the last container in this pod has restarted.",
    ),
    AGE,
    Column("IP", _ip, wide=True, description="Address of the pod, reachable at least from within the cluster."),
    Column("Node", _node, wide=True, description="The node that the pod runs, or is to run, on."),
    Column("Nominated Node", _nominated, wide=True, description="The node on which room is being made for the pod."),
    Column("Readiness Gates", _gates, wide=True, description="How many of the pod's readiness gates are passed."),
)
