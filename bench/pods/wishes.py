"""Pods of many kinds, and how far each is to come."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiphys.machinery.tree import Obj

IMAGE = "docker.io/library/busybox:1.36"
Reached = Callable[[Obj], bool]


@dataclass(frozen=True, slots=True)
class Wish:
    name: str
    spec: Obj
    reached: Reached
    """Of the pod: it is as far as it will be looked at."""
    metadata: Obj


def run(script: str = "", **more: Any) -> Obj:
    """A container; without a script it stays until it is told to go."""
    words = script or "trap 'exit 0' TERM; sleep 3600 & wait"
    return {"name": "c", "image": IMAGE, "imagePullPolicy": "Never", "command": ["sh", "-c", words], **more}


def ready(pod: Obj) -> bool:
    return _condition(pod, "Ready") == "True"


def ended(phase: str) -> Reached:
    return lambda pod: _phase(pod) == phase


def running_only(pod: Obj) -> bool:
    """Its containers run, and it is not ready."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return _phase(pod) == "Running" and all("running" in each["state"] for each in statuses) and not ready(pod)


def waiting(reason: str, restarts: int = 0) -> Reached:
    def reached(pod: Obj) -> bool:
        status = pod.get("status", {})
        listed = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
        return any(
            (each["state"].get("waiting") or {}).get("reason") == reason and each["restartCount"] == restarts for each in listed
        )

    return reached


def restarted(times: int) -> Reached:
    def reached(pod: Obj) -> bool:
        statuses = pod.get("status", {}).get("containerStatuses") or ()
        return any(each["restartCount"] == times and "running" in each["state"] for each in statuses)

    return reached


def unscheduled(pod: Obj) -> bool:
    return _condition(pod, "PodScheduled") == "False"


def _phase(pod: Obj) -> str:
    return str(pod.get("status", {}).get("phase", ""))


def _condition(pod: Obj, kind: str) -> str:
    found = (each for each in pod.get("status", {}).get("conditions") or () if each["type"] == kind)
    return str(next((each["status"] for each in found), ""))


def wish(name: str, reached: Reached, *containers: Obj, metadata: Obj | None = None, **spec: Any) -> Wish:
    named = [{**each, "name": each["name"] if index == 0 else f"c{index}"} for index, each in enumerate(containers)]
    return Wish(name, {"containers": named, "terminationGracePeriodSeconds": 2, **spec}, reached, metadata or {})
