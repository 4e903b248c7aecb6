"""What is known of a pod, and the shape of an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Facts:
    pod: Obj
    now: float
    events: list[Obj] = field(default_factory=list)
    """About the pod, the oldest first."""
    node: Obj | None = None
    """Where it runs, or is to run."""
    scheduling: dict[str, Any] | None = None
    """What the scheduler says of its decision; None where it says nothing."""
    silence: str = ""
    """Why the scheduler says nothing."""
    kubelet: dict[str, Any] | None = None
    """What its node does for it, and has done; None where the node says nothing."""
    lease: Obj | None = None
    """Of its node: when it was heard of last."""
    logs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The last lines of containers that have failed."""

    @property
    def key(self) -> str:
        return f"{self.pod['metadata']['namespace']}/{self.pod['metadata']['name']}"


@dataclass(frozen=True, slots=True)
class Answer:
    kind: str
    """One word for programs."""
    headline: str
    lines: tuple[str, ...] = ()
    """For people; laid out already."""
    data: dict[str, Any] = field(default_factory=dict)
    """The same for programs."""

    def to_tree(self) -> dict[str, Any]:
        return {"kind": self.kind, "headline": self.headline, **self.data}

    def text(self) -> str:
        return "\n".join((self.headline, *self.lines))
