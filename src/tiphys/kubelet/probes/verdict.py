"""When a row of answers becomes a verdict: so many of a kind, one after another (pkg/kubelet/prober/worker.go)."""

from dataclasses import dataclass, replace
from typing import Literal

from tiphys.machinery.tree import Obj

Kind = Literal["liveness", "readiness", "startup"]
KINDS: tuple[tuple[Kind, str], ...] = (
    ("startup", "startupProbe"),
    ("liveness", "livenessProbe"),
    ("readiness", "readinessProbe"),
)


@dataclass(frozen=True, slots=True)
class Probed:
    """One answer."""

    good: bool
    output: str
    at: float


@dataclass(frozen=True, slots=True)
class Counted:
    """`verdict`: None until there is one."""

    verdict: bool | None = None
    last: bool | None = None
    run: int = 0


def count(state: Counted, succeeded: bool, probe: Obj) -> Counted:
    run = state.run + 1 if succeeded == state.last else 1
    needed = (probe.get("successThreshold") if succeeded else probe.get("failureThreshold")) or (1 if succeeded else 3)
    counted = replace(state, last=succeeded, run=run)
    return replace(counted, verdict=succeeded) if run >= needed else counted


def port_number(container: Obj, port: object) -> int:
    """A number, or the name of one of the container's ports. ValueError in upstream's words."""
    if isinstance(port, int):
        number = port
    else:
        named = {each.get("name"): each["containerPort"] for each in container.get("ports") or ()}
        text = str(port)
        if text in named:
            number = named[text]
        elif text.isdecimal():
            number = int(text)
        else:
            raise ValueError(f"invalid port number: {text}" if not text else f"couldn't find port: {text}")
    if not 0 < number < 65536:
        raise ValueError(f"invalid port number: {number}")
    return number
