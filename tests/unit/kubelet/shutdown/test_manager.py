"""The machine waits for the pods, step after step (pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go)."""

import asyncio

from tests.virtual_loop import VirtualClock, run

from tiphys.base.log import Log, Logger
from tiphys.base.tasks import cancel, start
from tiphys.kubelet.shutdown.manager import Means, Shutdown, Unreachable
from tiphys.kubelet.shutdown.order import Step

STEPS = (Step(0, 20), Step(2_000_000_000, 10))


class Machine:
    def __init__(self, delay=5.0, *, yields=True):
        self.waits = delay
        self.yields = yields
        self.held = False
        self.said = asyncio.Queue()
        self.ends = asyncio.Event()
        self.let_go_at = None

    async def delay(self):
        return self.waits

    async def allow(self, seconds):
        if self.yields:
            self.waits = float(seconds)

    async def hold(self):
        self.held = True

    def let_go(self):
        self.held, self.let_go_at = False, asyncio.get_running_loop().time()

    async def attend(self):
        await self.ends.wait()
        self.said.put_nowait(None)

    async def next(self):
        return await self.said.get()

    def close(self):
        self.held = False


class Pod:
    def __init__(self, name, priority, needs):
        self.pod = {"metadata": {"name": name, "namespace": "d", "uid": name}, "spec": {"priority": priority}}
        self.needs = needs
        self.ended = float("inf")
        self.told = None

    @property
    def settled(self):
        return asyncio.get_running_loop().time() >= self.ended

    def shut_down(self, verdict, grace):
        now = asyncio.get_running_loop().time()
        self.told = (now, verdict.reason, verdict.disruption, grace)
        self.ended = now + self.needs


def play(scene, pods=(), steps=STEPS, machines=None):
    async def main():
        given = machines() if machines is not None else [Machine()]
        waiting, events, reports, lines = list(given), [], [], []
        clock = VirtualClock()

        async def connect():
            found = waiting.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

        async def report():
            reports.append(shutdown.begun)

        means = Means(connect, lambda: pods, report, lambda reason, message: events.append((reason, message)))
        shutdown = Shutdown(steps, means, clock, Logger(Log(lines.append, clock=clock), "test", {}))
        async with asyncio.TaskGroup() as group:
            task = await start(group, shutdown.run, name="shutdown")
            await clock.sleep(5)
            await scene(given, shutdown, clock, (events, reports, lines))
            await cancel(task)

    run(main())


def test_pods_end_in_order_and_then_the_machine_is_let_go():
    quick, slow, critical = Pod("quick", 0, 1), Pod("slow", 5, 600), Pod("critical", 2_000_001_000, 3)

    async def scene(machines, shutdown, clock, told):
        (machine,) = machines
        events, reports, _ = told
        assert machine.waits == 30
        assert machine.held
        assert not shutdown.begun
        machine.said.put_nowait(True)
        await clock.sleep(1)
        assert shutdown.begun
        assert reports == [True]
        assert events == [("NodeShutdown", "Shutdown manager detected shutdown event")]
        words = "Pod was terminated in response to imminent node shutdown."
        assert quick.told == slow.told == (5.0, "Terminated", words, 20)
        assert critical.told is None
        await clock.sleep(40)
        # The slow one has had its step's time; whoever needs less is not waited for.
        assert 25.0 <= critical.told[0] < 25.2
        assert critical.told[3] == 10
        assert 28.0 <= machine.let_go_at < 28.4
        machine.said.put_nowait(False)
        await clock.sleep(1)
        assert machine.held
        assert not shutdown.begun
        assert events[-1] == ("NodeShutdown", "Shutdown manager detected shutdown cancellation")

    play(scene, [quick, slow, critical])


def test_without_pods_nothing_is_waited_for():
    async def scene(machines, _shutdown, clock, _told):
        machines[0].said.put_nowait(True)
        await clock.sleep(1)
        assert machines[0].let_go_at == 5.0

    play(scene)


def test_a_machine_that_cannot_be_asked_at_the_beginning_is_not_asked_again():
    async def scene(_machines, shutdown, clock, told):
        await clock.sleep(60)
        assert not shutdown.begun
        assert len(told[2]) == 1
        assert "Failed to start node shutdown manager" in told[2][0]

    play(scene, machines=lambda: [Unreachable("there is no bus")])


def test_one_that_does_not_wait_long_enough_is_of_no_use():
    async def scene(machines, _shutdown, _clock, told):
        assert not machines[0].held
        assert "timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update to 30s" in told[2][0]

    play(scene, machines=lambda: [Machine(yields=False)])


def test_a_connection_that_ends_is_made_anew():
    async def scene(machines, shutdown, clock, told):
        machines[0].ends.set()
        await clock.sleep(5)
        assert any("Unable to watch the node for shutdown events" in line for line in told[2])
        machines[2].said.put_nowait(True)
        await clock.sleep(1)
        assert shutdown.begun

    play(scene, machines=lambda: [Machine(), Unreachable("not yet"), Machine()])


def test_who_asks_for_nothing_gets_nothing():
    async def scene(machines, _shutdown, _clock, told):
        assert not machines[0].held
        assert told[2] == []

    play(scene, steps=())
