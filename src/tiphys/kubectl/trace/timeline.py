"""One story of what several components remember of a pod. Core.

Each of them keeps the last of what it did: the API server its requests, the controllers their turns, the scheduler its
decisions, the kubelet its steps. Where one remembers nothing, the pod's own status has to do, which knows whole seconds only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tiphys.kubectl.why.layout import table
from tiphys.machinery import times
from tiphys.machinery.tree import Obj

_ROUND = 1e-3


@dataclass(frozen=True, slots=True)
class Remembered:
    pod: Obj
    requests: list[Obj] = field(default_factory=list)
    turns: dict[str, list[Obj]] = field(default_factory=dict)
    """Of controllers, by their names."""
    scheduling: dict[str, Any] | None = None
    kubelet: dict[str, Any] | None = None
    silent: tuple[str, ...] = ()
    """What cannot be told, and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: float
    component: str
    what: str
    seconds: float | None = None
    """None: not known, or none."""
    problem: str = ""

    def to_tree(self) -> Obj:
        told: Obj = {"at": times.rfc3339_micro(self.at), "component": self.component, "what": self.what}
        if self.seconds is not None:
            told["seconds"] = round(self.seconds, 6)
        return {**told, "problem": self.problem} if self.problem else told


def entries(known: Remembered) -> list[Entry]:
    """The oldest first."""
    found = [*_requests(known), *_turns(known), *_scheduler(known), *_kubelet(known), *_status(known)]
    return sorted(found, key=lambda each: each.at)


def _requests(known: Remembered) -> Iterator[Entry]:
    for each in known.requests:
        part = f"/{each['subresource']}" if each["subresource"] else ""
        inside = ", ".join(f"{part['what']} {_spell(part['seconds'])}" for part in each["parts"])
        before = f"who, may they {_spell(each['waitedSeconds'])}" if each["waitedSeconds"] >= _ROUND else ""
        detail = ", ".join(filter(None, (before, inside)))
        told = f"{each['verb']} pods{part} by {each['user']}" + (f" ({detail})" if detail else "")
        refused = str(each.get("code") or "")
        yield Entry(times.parse_micro(each["at"]), "apiserver", told, each["seconds"], refused)


def _turns(known: Remembered) -> Iterator[Entry]:
    for name, turns in known.turns.items():
        for each in turns:
            told = f"{each['key']}: {', '.join(each['wrote'])}" + (f", because {each['cause']}" if each["cause"] else "")
            yield Entry(times.parse_micro(each["at"]), name, told, None, "" if each["outcome"] == "done" else each["outcome"])


def _scheduler(known: Remembered) -> Iterator[Entry]:
    decision = (known.scheduling or {}).get("decision")
    if not decision:
        return
    waited = decision["waitedSeconds"]
    spent = ", ".join(f"{_spell(seconds)} {place}" for place, seconds in waited.items() if seconds)
    queue = f"; in the queue before: {spent}" if spent else ""
    told = f"chose {decision['node']}" if decision["node"] else "found no node"
    problem = "" if decision["node"] else decision["message"]
    yield Entry(decision["at"], "scheduler", f"{told} at try {decision['attempts']}{queue}", None, problem)


def _kubelet(known: Remembered) -> Iterator[Entry]:
    told = known.kubelet or {}
    for each in told.get("steps") or ():
        where = f" ({each['container']})" if each.get("container") else ""
        still = f", still at it after {_spell(each['underWayForSeconds'])}" if "underWayForSeconds" in each else ""
        spent = each.get("seconds")
        began = times.parse_micro(each["began"])
        yield Entry(began, "kubelet", f"{each['what']}{where}{still}", spent or None, each.get("problem", ""))


def _status(known: Remembered) -> Iterator[Entry]:
    """What is known of a pod in any cluster."""
    meta, status = known.pod["metadata"], known.pod.get("status") or {}
    if not known.requests:
        yield Entry(times.parse(meta["creationTimestamp"]), "pod", "created")
    if meta.get("deletionTimestamp"):
        grace = meta.get("deletionGracePeriodSeconds", 0)
        yield Entry(times.parse(meta["deletionTimestamp"]) - grace, "pod", f"deleted, with {grace} s of grace")
    if known.kubelet is None:
        # Whole seconds, which may have begun before the pod was made.
        made = times.parse_micro(known.requests[0]["at"]) if known.requests else 0.0
        for each in status.get("conditions") or ():
            if each.get("status") == "True" and each.get("lastTransitionTime"):
                yield Entry(max(made, times.parse(each["lastTransitionTime"])), "pod", each["type"])


def ready_after(listed: list[Entry]) -> float | None:
    """Seconds from the first entry until the API server knew that it is ready; None where it does not, or that is not known."""
    written = [each for each in listed if each.component == "kubelet" and _is_ready(each)]
    return written[0].at + (written[0].seconds or 0.0) - listed[0].at if written else None


def _is_ready(entry: Entry) -> bool:
    if not entry.what.startswith("status written"):
        return False
    told = entry.what.partition("(")[2].rstrip(")").split(", ")
    return "Ready" in told and not entry.problem


def text(known: Remembered) -> str:
    listed = entries(known)
    meta = known.pod["metadata"]
    began = listed[0].at
    rows = [("AFTER", "TOOK", "COMPONENT", "STEP")]
    for each in listed:
        problem = f": {each.problem}" if each.problem else ""
        took = _spell(each.seconds) if each.seconds is not None else ""
        rows.append((_spell(each.at - began), took, each.component, f"{each.what}{problem}"))
    lines = [f"Pod {meta['namespace']}/{meta['name']}, from {times.rfc3339_micro(began)} on:", "", *table(rows)]
    if (ready := ready_after(listed)) is not None:
        lines += ["", f"From the first request to Ready: {_spell(ready)}."]
    return "\n".join([*lines, *(("", *known.silent) if known.silent else ())])


def _spell(seconds: float) -> str:
    if abs(seconds) < 0.01:
        return f"{1000 * seconds:.1f} ms"
    return f"{1000 * seconds:.0f} ms" if abs(seconds) < 10 else f"{seconds:.1f} s"
