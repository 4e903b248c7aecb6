"""How a cache follows the server: list, then watch from there; resume where a watch ended; start over when told to (410).

A machine without I/O: `step(state, event)` returns the next state and what to do; the result of that is the next event.

    IDLE --Started--> STREAMING --initial end--> WATCHING --Ended--> WATCHING (from the revision reached)
                        | refused                   | 410
                        v                           v
                      LISTING --Listed--> WATCHING  WAITING --Waited--> STREAMING or LISTING

STREAMING is a watch that first sends what is there (`sendInitialEvents`) and needs no second copy of the list on either
side; a server that does not know it refuses, and is listed from then on. Failures wait 0.8 s, doubling up to 30 s; two
quiet minutes forgive them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from tiphys.client.interface import Watched
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

FIRST_DELAY = 0.8
LONGEST_DELAY = 30.0
FORGIVEN_AFTER = 120.0
PAGE = 500

_PASSING = (401, 403, 410, 429, 503, 504)
"""Errors that say nothing about whether the server can stream lists. Others do: 422 where it does not know how, 500 where its
etcd does not."""

INITIAL_END = "k8s.io/initial-events-end"


class Phase(Enum):
    IDLE = "idle"
    STREAMING = "streaming"
    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Started:
    """The owner wants the cache to be filled."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to `List`."""

    items: list[Obj]
    revision: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    event: Watched


@dataclass(frozen=True, slots=True)
class Ended:
    """A list failed, or a watch ended; an end without an error is the usual one."""

    error: ApiError | ConnectionError | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """The time of a `Wait` is over."""


Event = Started | Page | Received | Ended | Waited


@dataclass(frozen=True, slots=True)
class List:
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Watch:
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    """At least; the edge adds up to as much again by chance, so that not all come back at once."""


@dataclass(frozen=True, slots=True)
class Replace:
    items: list[Obj]
    revision: int


@dataclass(frozen=True, slots=True)
class Apply:
    event: Watched
    revision: int


Instruction = List | Watch | Wait | Replace | Apply


@dataclass(frozen=True, slots=True)
class State:
    phase: Phase = Phase.IDLE
    revision: str = ""
    """Where the next watch goes on."""
    can_stream: bool = True
    failures: int = 0
    failed_at: float = float("-inf")
    pending: list[Obj] = field(default_factory=list)
    """What has come of a list that is not complete; belongs to the machine and grows in place."""


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Instruction, ...]]:
    match event:
        case Started() | Waited():
            return _again(state)
        case Page():
            return _listed(state, event)
        case Received():
            return _received(state, event.event)
        case Ended():
            return _ended(state, event.error, now)


def _again(state: State) -> tuple[State, tuple[Instruction, ...]]:
    if state.revision:
        return replace(state, phase=Phase.WATCHING), (_watch(state.revision),)
    if state.can_stream:
        params = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        return replace(state, phase=Phase.STREAMING, pending=[]), (Watch(params),)
    return replace(state, phase=Phase.LISTING, pending=[]), (List({"limit": str(PAGE)}),)


def _watch(revision: str) -> Watch:
    return Watch({"resourceVersion": revision, "allowWatchBookmarks": "true"})


def _listed(state: State, page: Page) -> tuple[State, tuple[Instruction, ...]]:
    state.pending.extend(page.items)
    if page.continue_token:
        return state, (List({"limit": str(PAGE), "continue": page.continue_token}),)
    new = replace(state, phase=Phase.WATCHING, revision=page.revision, pending=[])
    return new, (Replace(state.pending, int(page.revision)), _watch(page.revision))


def _received(state: State, event: Watched) -> tuple[State, tuple[Instruction, ...]]:
    metadata = event.object["metadata"]
    revision: str = metadata["resourceVersion"]
    if state.phase is not Phase.STREAMING:
        return replace(state, revision=revision), (Apply(event, int(revision)),)
    if event.type == "BOOKMARK" and (metadata.get("annotations") or {}).get(INITIAL_END) == "true":
        new = replace(state, phase=Phase.WATCHING, revision=revision, pending=[])
        return new, (Replace(state.pending, int(revision)),)
    if event.type != "BOOKMARK":
        state.pending.append(event.object)
    return state, ()


def _ended(state: State, error: ApiError | ConnectionError | None, now: float) -> tuple[State, tuple[Instruction, ...]]:
    if error is None and state.phase is Phase.WATCHING:
        return state, (_watch(state.revision),)
    if isinstance(error, ApiError):
        if state.phase is Phase.STREAMING and error.code not in _PASSING:
            return _again(replace(state, can_stream=False))
        if error.code == 410 or error.reason in ("Expired", "Gone"):
            state = replace(state, revision="")
            if state.failures == 0:
                # The usual case: a watcher that was away for long. It is not a failure of the server.
                return _again(replace(state, failures=1, failed_at=now))
        elif _too_large(error):
            state = replace(state, revision="")
    failures = 0 if now - state.failed_at > FORGIVEN_AFTER else state.failures
    delay = min(FIRST_DELAY * 2**failures, LONGEST_DELAY)
    return replace(state, phase=Phase.WAITING, failures=failures + 1, failed_at=now, pending=[]), (Wait(delay),)


def _too_large(error: ApiError) -> bool:
    """The server knows less than we do: it was restored from a backup, or is another one."""
    causes = error.details.causes if error.details is not None else ()
    return any(each.get("reason") == "ResourceVersionTooLarge" for each in causes)
