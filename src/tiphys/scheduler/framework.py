"""What a plugin can be. A plugin is one class; it implements the phases it has and names the events that could undo its "no".

Phases, in the order of a pod's way: `gate` (may it be tried at all), `narrow` (which nodes are worth a look), `filter` (which
nodes can take it), `score` (which of those is best). All nodes are judged at once: `filter` and `score` work on columns.
A plugin that would rather see one node at a time derives from `one_node.OneNodePlugin`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from tiphys.client.interface import Client
from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.node_table import Mask, Nodes, NodeTable, Numbers
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.volumes import VolumePlan

BEST = 100
"""The score of the best node; the worst has 0."""


class Failed(Exception):
    """A plugin cannot judge, and no node is to blame: what the pod refers to makes no sense. It is tried again later."""

    def __init__(self, plugin: str, words: str) -> None:
        super().__init__(f'running "{plugin}" filter plugin: {words}')


@dataclass(frozen=True, slots=True)
class Reason:
    rows: Mask
    words: str
    """As people read them in the pod's events."""
    preemption_helps: bool | Mask = True


@dataclass(frozen=True, slots=True)
class Refused:
    """The nodes that cannot take the pod, and why. A node may be refused for several reasons."""

    rows: Mask
    reasons: tuple[Reason, ...]


def refused(rows: Mask, words: str, *, preemption_helps: bool = True) -> Refused:
    return Refused(rows, (Reason(rows, words, preemption_helps),))


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Only these nodes are looked at. With `words`, none is: the pod itself is at fault, or what it asks for is not there."""

    names: frozenset[str] = frozenset()
    words: str = ""


@dataclass(frozen=True, slots=True)
class Lack:
    """What keeps a pod off one node, closely enough for somebody to do something about it."""

    words: str
    """After the name of the node: "lacks 300Mi memory"."""
    remedy: str = ""
    """What would help."""
    distance: float = 1.0
    """From 0, almost there, to 1."""


class Plugin(Protocol):
    name: str
    unblocked_by: Event
    """What may make it answer otherwise."""

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        """Whether this change, one of `unblocked_by`, is worth another try of a pod that this plugin refused."""
        ...


@runtime_checkable
class Gate(Plugin, Protocol):
    def gate(self, pod: PodInfo) -> str:
        """Why the pod must not be tried yet; empty: it may."""
        ...


@runtime_checkable
class Narrow(Plugin, Protocol):
    def narrow(self, pod: PodInfo) -> Narrowed | None:
        """None: every node is worth a look."""
        ...


@runtime_checkable
class Filter(Plugin, Protocol):
    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        """None: all of these nodes can take it."""
        ...


@runtime_checkable
class Sums(Plugin, Protocol):
    """A filter that may not need to be asked about one node after the other when it is weighed whom to evict."""

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:
        """If all that matters of other pods, and of those that are to come, is how much they take together: of what ("pods" are
        their number). It refuses for their sake just where there is less of that left than the pod asks for, and reads it off
        `nodes.requested` and `nodes.pod_count`. None: something else about them matters."""
        ...


@runtime_checkable
class Imagines(Filter, Protocol):
    """A filter that can judge nodes as they would be without some of their pods, and so many at once when it is weighed whom
    to evict: all that it knows of other pods it takes from methods of `nodes`, never from `nodes.table`."""

    imagines: bool


@dataclass(frozen=True, slots=True)
class Freed:
    """What was found to give back before anybody is evicted, so that a pod that no node could take may be placed elsewhere."""

    words: str
    """As people read them after the reasons."""
    claim: Obj | None = None
    """A claim whose devices go back."""
    removed: Obj | None = None
    """A claim that was made for the pod, and goes."""


@runtime_checkable
class Free(Plugin, Protocol):
    """It is also one that narrows: what it found then it works with."""

    def narrow(self, pod: PodInfo) -> Narrowed | None: ...

    def free(self, pod: PodInfo) -> Freed: ...


@runtime_checkable
class Score(Plugin, Protocol):
    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        """From 0 to BEST for each of `nodes`; only `nodes.feasible` ones matter. None: all the same."""
        ...


@runtime_checkable
class Plan(Plugin, Protocol):
    def plan(self, pod: PodInfo, nodes: Nodes) -> VolumePlan | None:
        """`nodes` is the one that was chosen: what has to be there before the pod can be bound to it."""
        ...


@runtime_checkable
class Explains(Plugin, Protocol):
    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        """Of the one node in `nodes`, which the filter of this plugin refuses."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    def reserve(self, pod: PodInfo, node: str) -> str:
        """The pod is assumed to be on the node from now on; say why not, if it must not."""
        ...

    def unreserve(self, pod: PodInfo, node: str) -> None:
        """It came to nothing, here or later; may be told of pods that it never heard of."""
        ...


class Permission:
    """A pod that has to wait, on its way to its node, until its plugin allows or denies it, from wherever that is known."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """How long it waits at the most; then it is denied."""
        self.denied: str | None = None
        """None while it waits, empty once it is allowed."""
        self._told: list[Callable[[], None]] = []

    def allow(self) -> None:
        self._settle("")

    def deny(self, words: str) -> None:
        self._settle(words)

    def when_settled(self, told: Callable[[], None]) -> None:
        self._told.append(told)
        if self.denied is not None:
            told()

    def _settle(self, words: str) -> None:
        if self.denied is None:
            self.denied = words
            for each in self._told:
                each()


@runtime_checkable
class Permit(Plugin, Protocol):
    def permit(self, pod: PodInfo, node: str) -> Permission | None:
        """None: it may go on at once."""
        ...


@runtime_checkable
class PreBind(Plugin, Protocol):
    async def before_binding(self, pod: PodInfo, node: str, client: Client) -> None:
        """What has to be there first; whatever is raised keeps the pod from being bound."""
        ...


class NotPrepared(Exception):
    """What has to be there before a pod can be bound has not come about."""

    def __init__(self, plugin: str, words: str) -> None:
        super().__init__(f'running PreBind plugin "{plugin}": {words}')


@dataclass(frozen=True, slots=True)
class Awaited:
    """What others have to do for a pod before it can be bound."""

    reason: str
    words: str
    """Of an event that tells of it."""
    seconds: float
    """How long it is waited for."""
    late: NotPrepared
    """What is said then."""


@runtime_checkable
class Prepare(PreBind, Protocol):
    """What it writes others act upon."""

    def awaits(self, pod: PodInfo, node: str) -> Awaited | None:
        """After `before_binding`. None: nothing."""
        ...

    def is_prepared(self, pod: PodInfo, now: float) -> bool:
        """Raises NotPrepared once it cannot come about any more."""
        ...

    async def take_back(self, pod: PodInfo, node: str, client: Client) -> None:
        """It came to nothing: what was written, if anything was."""
        ...


@runtime_checkable
class Bind(Plugin, Protocol):
    async def bind(self, pod: PodInfo, node: str, client: Client) -> bool:
        """False: another one shall do it."""
        ...


@runtime_checkable
class PostBind(Plugin, Protocol):
    def bound(self, pod: PodInfo, node: str) -> None: ...


class Base:
    """What most plugins share: every event they name is worth a try."""

    name = ""
    unblocked_by = Event.NOTHING

    def helped_by(self, pod: PodInfo, change: Change) -> bool:  # noqa: ARG002 - for those that look
        return True


class OfNodesOnly(Base):
    """A filter to which the pods on a node do not matter."""

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str]:  # noqa: ARG002
        return frozenset()


@dataclass(frozen=True, slots=True)
class Effort:
    """Of preemption: so many nodes are tried before the best of them is taken."""

    percent: int = 10
    least: int = 100


@dataclass(frozen=True, slots=True)
class Weighted:
    plugin: Score
    weight: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What a scheduler of one name does, phase by phase, each in its order."""

    scheduler: str
    gates: Sequence[Gate] = ()
    narrowers: Sequence[Narrow] = ()
    filters: Sequence[Filter] = ()
    freers: Sequence[Free] = ()
    scorers: Sequence[Weighted] = ()
    planner: Plan | None = None
    reservers: Sequence[Reserve] = ()
    permitters: Sequence[Permit] = ()
    pre_binders: Sequence[PreBind] = ()
    binders: Sequence[Bind] = ()
    """Asked before the pod is bound as usual."""
    post_binders: Sequence[PostBind] = ()
    preemption: Effort | None = Effort()
    """None: it evicts nobody."""
    volume_seconds: float = 600.0
    """How long a pod waits for its volumes."""

    def plugins(self) -> dict[str, Plugin]:
        every: list[Plugin] = [*self.gates, *self.narrowers, *self.filters, *(each.plugin for each in self.scorers)]
        every += [*self.reservers, *self.permitters, *self.pre_binders, *self.binders, *self.post_binders]
        return {each.name: each for each in every}


def most_is_best(raw: Numbers, nodes: Nodes) -> Numbers | None:
    """The highest becomes BEST, the others in proportion."""
    top = _highest(raw, nodes)
    return None if top <= 0 else raw * BEST // top


def fewest_is_best(raw: Numbers, nodes: Nodes) -> Numbers | None:
    """The highest becomes 0, none becomes BEST."""
    top = _highest(raw, nodes)
    return None if top <= 0 else BEST - raw * BEST // top


def _highest(raw: Numbers, nodes: Nodes) -> int:
    return int(np.max(raw, where=nodes.feasible, initial=0))
