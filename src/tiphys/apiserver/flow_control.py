"""Fair queuing: requests wait their turn by user, and are told to come back when too many wait.

A request takes a seat while it is served. With all seats taken it waits in the queue of its flow (its user); freed seats go to
the flows in turn, so that one busy client cannot starve the others. A full queue, or too long a wait, is 429 with
Retry-After. Watches and other long-running requests hold no seat: they cost little while nothing happens.
"""

import asyncio
from collections import OrderedDict, deque

from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.request import RequestInfo
from tiphys.base.metrics import Registry
from tiphys.machinery import errors

READS, WRITES = 400, 200
"""Upstream's defaults."""
SEATS = READS + WRITES
QUEUED_PER_FLOW = 200
QUEUED_IN_ALL = 5000
LONGEST_WAIT = 60.0

_LONG_VERBS = frozenset(("watch", "proxy"))
_LONG_SUBRESOURCES = frozenset(("attach", "exec", "portforward", "log", "proxy"))

_PROBES = ("/healthz", "/livez", "/readyz")
_NOBODY: deque[asyncio.Future[None]] = deque()
TOO_MANY = "too many requests, please try again later"


def is_long_running(info: RequestInfo) -> bool:
    return info.verb in _LONG_VERBS or info.subresource in _LONG_SUBRESOURCES


def _is_exempt(user: User, info: RequestInfo) -> bool:
    return MASTERS in user.groups or (not info.is_resource and info.path in _PROBES)


class FairGate:
    """All flows share the seats. What upstream's flow schemas call exempt, and probes, neither waits nor takes a seat."""

    def __init__(self, metrics: Registry, seats: int = SEATS) -> None:
        self._seats = seats
        self._taken = 0
        self._flows: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        rejected = metrics.counter(
            "apiserver_flowcontrol_rejected_requests_total", "Requests turned away by flow control", ("reason",)
        )
        self._full = rejected.labels("queue-full")
        self._late = rejected.labels("time-out")
        inflight = metrics.gauge("apiserver_current_inflight_requests", "Requests being served", ("request_kind",))
        self._reads, self._writes = inflight.labels("readOnly"), inflight.labels("mutating")
        self._queued = metrics.gauge("apiserver_flowcontrol_current_inqueue_requests", "Requests that wait for a seat", ()).only

    async def enter(self, user: User, info: RequestInfo) -> None:
        if is_long_running(info):
            return
        if not _is_exempt(user, info):
            if self._taken >= self._seats:
                await self._wait(user.name)
            else:
                self._taken += 1
        (self._reads if info.verb in ("get", "list") else self._writes).inc()

    def leave(self, user: User, info: RequestInfo) -> None:
        if is_long_running(info):
            return
        (self._reads if info.verb in ("get", "list") else self._writes).dec()
        if not _is_exempt(user, info):
            self._taken -= 1
            self._admit_next()

    def _admit_next(self) -> None:
        """Give free seats to the flows in turn. Whoever is given one has it from this moment on."""
        while self._taken < self._seats and self._flows:
            flow, waiting = next(iter(self._flows.items()))
            turn = waiting.popleft()
            self._queued.dec()
            # The flow goes to the end of the line, or away if nobody of it waits any more.
            self._flows.move_to_end(flow)
            if not waiting:
                del self._flows[flow]
            turn.set_result(None)
            self._taken += 1

    async def _wait(self, flow: str) -> None:
        """Until this request has a seat."""
        waiting = self._flows.get(flow, _NOBODY)
        if len(waiting) >= QUEUED_PER_FLOW or self._queued.value >= QUEUED_IN_ALL:
            self._full.inc()
            raise errors.too_many_requests(TOO_MANY)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flows.setdefault(flow, deque()).append(turn)
        self._queued.inc()
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                # Shielded: whoever gives up finds out whether a seat was given to them meanwhile.
                await asyncio.shield(turn)
        except TimeoutError:
            self._give_up(flow, turn)
            self._late.inc()
            raise errors.too_many_requests(TOO_MANY) from None
        except asyncio.CancelledError:
            self._give_up(flow, turn)
            raise

    def _give_up(self, flow: str, turn: asyncio.Future[None]) -> None:
        if turn.done():
            self._taken -= 1
            self._admit_next()
            return
        waiting = self._flows[flow]
        waiting.remove(turn)
        self._queued.dec()
        if not waiting:
            del self._flows[flow]
