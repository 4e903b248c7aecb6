"""Who waits, who goes first and who is turned away when the server is busy.

Authority: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/ (queues of flows, fair dispatch, rejection,
exempt requests); our levels and seats are fewer.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.virtual_loop import run

from tiphys.apiserver import flow_control
from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.flow_control import FairGate
from tiphys.apiserver.request import RequestInfo, resolve
from tiphys.base.metrics import Registry
from tiphys.base.tasks import spawn
from tiphys.machinery.errors import ApiError

GET = resolve("GET", "/api/v1/namespaces/default/pods/web", {})
WATCH = resolve("GET", "/api/v1/pods", {"watch": ["1"]})
PROBE = resolve("GET", "/readyz", {})
ALICE, BOB, ADMIN = User("alice", ()), User("bob", ()), User("admin", (MASTERS,))


class Door:
    """A gate with few seats, and the order in which it lets requests in."""

    def __init__(self, group: asyncio.TaskGroup, seats: int) -> None:
        self.group = group
        self.started: list[asyncio.Task[None]] = []
        self.metrics = Registry()
        self.gate = FairGate(self.metrics, seats)
        self.entered: list[str] = []

    async def come(self, user: User, label: str = "", info: RequestInfo = GET) -> None:
        await self.gate.enter(user, info)
        self.entered.append(label or user.name)

    def start(self, user: User, label: str = "") -> "asyncio.Task[None]":
        task = spawn(self.group, self.come(user, label), name=label)
        self.started.append(task)
        return task

    def shown(self, line: str) -> bool:
        return line in self.metrics.render().decode().splitlines()


async def turns() -> None:
    await asyncio.sleep(0.001)


def at_a_door(scenario: Callable[[Door], Awaitable[None]], seats: int = 1) -> None:
    run(_through(scenario, seats))


async def _through(scenario: Callable[[Door], Awaitable[None]], seats: int) -> None:
    async with asyncio.TaskGroup() as group:
        door = Door(group, seats)
        await scenario(door)
        for each in door.started:
            each.cancel()


def test_a_busy_user_does_not_starve_others():
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        for number in range(3):
            door.start(ALICE, f"alice{number}")
        await turns()
        door.start(BOB)
        await turns()
        assert door.shown("apiserver_flowcontrol_current_inqueue_requests 4")
        for _ in range(4):
            door.gate.leave(ALICE, GET)
            await turns()
        assert door.entered == ["alice", "alice0", "bob", "alice1", "alice2"]

    at_a_door(scenario)


def test_a_seat_is_given_once():
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        await door.come(ALICE)
        for number in range(4):
            door.start(BOB, f"bob{number}")
        await turns()
        # Both leave before those who wait have had a chance to run.
        door.gate.leave(ALICE, GET)
        door.gate.leave(ALICE, GET)
        door.start(ALICE, "late")
        await turns()
        assert door.entered == ["alice", "alice", "bob0", "bob1"]
        assert door.shown('apiserver_current_inflight_requests{request_kind="readOnly"} 2')

    at_a_door(scenario, seats=2)


def test_a_full_queue_turns_away():
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        waiting = [door.start(ALICE) for _ in range(flow_control.QUEUED_PER_FLOW)]
        await turns()
        with pytest.raises(ApiError) as refused:
            await door.come(ALICE)
        assert refused.value.code == 429
        assert refused.value.headers == {"Retry-After": "1"}
        assert door.shown('apiserver_flowcontrol_rejected_requests_total{reason="queue-full"} 1')
        waiting.append(door.start(BOB))  # whose queue is his own
        await turns()
        assert not any(each.done() for each in waiting)

    at_a_door(scenario)


def test_nobody_waits_for_ever():
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        began = asyncio.get_running_loop().time()
        with pytest.raises(ApiError) as refused:
            await door.come(BOB)
        assert refused.value.code == 429
        assert asyncio.get_running_loop().time() - began == flow_control.LONGEST_WAIT
        assert door.shown('apiserver_flowcontrol_rejected_requests_total{reason="time-out"} 1')
        assert door.shown("apiserver_flowcontrol_current_inqueue_requests 0")
        door.gate.leave(ALICE, GET)
        await door.come(BOB)

    at_a_door(scenario)


@pytest.mark.parametrize("when", ["while it waits", "when it has just been given a seat"])
def test_a_client_that_hangs_up_leaves_its_seat(when):
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        gone = door.start(BOB)
        await turns()
        if when == "when it has just been given a seat":
            door.gate.leave(ALICE, GET)
            gone.cancel()
        else:
            gone.cancel()
            await turns()
            door.gate.leave(ALICE, GET)
        await turns()
        assert gone.cancelled()
        await asyncio.wait_for(door.come(ALICE, "next"), 1)

    at_a_door(scenario)


def test_what_never_waits():
    async def scenario(door: Door) -> None:
        await door.come(ALICE)
        for user, info in ((ADMIN, GET), (BOB, PROBE), (BOB, WATCH)):
            await asyncio.wait_for(door.come(user, info=info), 1)
            door.gate.leave(user, info)
        waiting = door.start(BOB, "still busy")
        await turns()
        assert not waiting.done()

    at_a_door(scenario)
