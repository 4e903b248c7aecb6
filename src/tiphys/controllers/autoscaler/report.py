"""What an autoscaler tells of itself: conditions and Events, gathered on the way and written at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tiphys.controllers import conditions
from tiphys.controllers.plan import Note
from tiphys.machinery.tree import Obj

Words = tuple[str, str]
"""Reason and message."""


@dataclass(frozen=True, slots=True)
class Report:
    autoscaler: Obj
    now: float
    conditions: tuple[Obj, ...]
    notes: tuple[Note, ...] = ()

    def condition(self, kind: str, status: str, words: Words) -> "Report":
        reason, message = words
        new = conditions.condition(kind, status, reason, message, self.now)
        old = conditions.find(self.conditions, kind)
        if old is None:
            return replace(self, conditions=(*self.conditions, new))
        if old.get("status") == status:
            new["lastTransitionTime"] = old.get("lastTransitionTime")
        return replace(self, conditions=tuple(new if each is old else each for each in self.conditions))

    def able(self, words: Words, *, able: bool = True) -> "Report":
        return self.condition("AbleToScale", "True" if able else "False", words)

    def note(self, reason: str, message: str, kind: Literal["Normal", "Warning"] = "Warning") -> "Report":
        return replace(self, notes=(*self.notes, Note(self.autoscaler, reason, message, kind)))

    def status(self, current: int, desired: int, metrics: Sequence[Obj] | None, scaled_at: str = "") -> Obj | None:
        """None: it says so already."""
        before: Obj = self.autoscaler.get("status") or {}
        status: Obj = {"desiredReplicas": desired, "currentMetrics": list(metrics) if metrics else None}
        if current:
            status["currentReplicas"] = current
        last = scaled_at or before.get("lastScaleTime")
        if last:
            status["lastScaleTime"] = last
        if self.conditions:
            status["conditions"] = list(self.conditions)
        return status if _differs(status, before) else None


def begin(autoscaler: Obj, now: float) -> Report:
    status = autoscaler.get("status") or {}
    # Of a gate that v1.36 ships switched off.
    return Report(autoscaler, now, tuple(conditions.without(status.get("conditions"), "ScaledToZero")))


def _differs(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Nothing and an absent value are the same."""
    return any((one.get(key) or None) != (other.get(key) or None) for key in {*one, *other})
