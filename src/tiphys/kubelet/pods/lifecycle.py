"""Where a pod is in its life on this node, as a table.

A worker feeds the machine with what it learns (events) and carries out what the machine says (instructions); the outcome of an
instruction is the next event. There is no way back: once a pod is being ended, nothing that the API says revives it, however
quickly a pod of the same name comes along (that one has another uid, and a worker of its own).

    SYNC          containers are made to be as the spec says, over and over
    TERMINATING   containers are being stopped; a second deletion may shorten the grace that is left
    TERMINATED    nothing runs any more; volumes, cgroups and the sandbox are taken away
    ENDED         nothing is left on the node; the API object may still stand (a Job's pod does, until somebody deletes it)
    GONE          the API has forgotten it, and so do we
"""

from dataclasses import dataclass, replace
from enum import Enum

from tiphys.machinery.tree import Obj


class Phase(Enum):
    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    ENDED = "ended"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Deleted:
    """The API object is marked for deletion (again, perhaps with less grace)."""

    grace: float


@dataclass(frozen=True, slots=True)
class Removed:
    """The API object is not there any more, or no longer this node's."""

    grace: float


@dataclass(frozen=True, slots=True)
class ReachedEnd:
    """Its containers have ended and none will be started again; or the node has decided so (`grace` for what still runs)."""

    grace: float


@dataclass(frozen=True, slots=True)
class ContainersGone:
    """Nothing of it runs."""


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """Nothing of it is left on the node."""


Event = Deleted | Removed | ReachedEnd | ContainersGone | CleanedUp


class Instruction(Enum):
    KILL = "kill"
    """Stop what runs, within the state's grace."""
    CLEAN_UP = "clean up"
    CONFIRM = "confirm"
    """Tell the API that the deletion may be carried out."""
    FORGET = "forget"


TRANSITIONS: dict[Phase, dict[type[Event], tuple[Phase, tuple[Instruction, ...]]]] = {
    Phase.SYNC: {
        Deleted: (Phase.TERMINATING, (Instruction.KILL,)),
        Removed: (Phase.TERMINATING, (Instruction.KILL,)),
        ReachedEnd: (Phase.TERMINATING, (Instruction.KILL,)),
    },
    Phase.TERMINATING: {
        Deleted: (Phase.TERMINATING, (Instruction.KILL,)),
        Removed: (Phase.TERMINATING, (Instruction.KILL,)),
        ReachedEnd: (Phase.TERMINATING, (Instruction.KILL,)),
        ContainersGone: (Phase.TERMINATED, (Instruction.CLEAN_UP,)),
    },
    Phase.TERMINATED: {
        Deleted: (Phase.TERMINATED, ()),
        Removed: (Phase.TERMINATED, ()),
        CleanedUp: (Phase.ENDED, ()),
    },
    Phase.ENDED: {
        Deleted: (Phase.ENDED, (Instruction.CONFIRM,)),
        Removed: (Phase.GONE, (Instruction.FORGET,)),
    },
    Phase.GONE: {},
}


@dataclass(frozen=True, slots=True)
class PodState:
    phase: Phase = Phase.SYNC
    deadline: float = float("inf")
    """When what still runs is killed. It only ever moves nearer."""
    deleted: bool = False
    removed: bool = False


def step(state: PodState, event: Event, now: float) -> tuple[PodState, tuple[Instruction, ...]]:
    """Events that mean nothing where the pod is are taken and ignored: they come late, or twice."""
    found = TRANSITIONS[state.phase].get(type(event))
    if found is None:
        return state, ()
    phase, instructions = found
    after = replace(
        state,
        phase=phase,
        deleted=state.deleted or isinstance(event, Deleted),
        removed=state.removed or isinstance(event, Removed),
    )
    if isinstance(event, Deleted | Removed | ReachedEnd):
        deadline = now + event.grace
        if state.phase is Phase.TERMINATING and deadline >= state.deadline:
            instructions = ()
        after = replace(after, deadline=min(state.deadline, deadline))
    if isinstance(event, CleanedUp):
        # What came while there was still something to clean up is answered now.
        if state.removed:
            return replace(after, phase=Phase.GONE), (Instruction.FORGET,)
        if state.deleted:
            return after, (Instruction.CONFIRM,)
    return after, instructions


def effective_grace(pod: Obj) -> float:
    """What its deletion says, else what its spec does; never less than a second (calculateEffectiveGracePeriod)."""
    told = pod["metadata"].get("deletionGracePeriodSeconds") or pod["spec"].get("terminationGracePeriodSeconds", 30)
    return max(float(told), 1.0)
