"""Extenders that are asked over HTTP, on the loopback interface: v1.36.4 pkg/scheduler/extender.go."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import orjson
from tests.sim.scheduler.scene import Scene, node, play, pod

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.base.http.messages import Request, Response
from tiphys.base.http.server import Server
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.settings import ExtenderSettings


class Program:
    """An extender: node "bad" is none, node "last" is best, and pods named `own` it binds itself."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False
        self.bound: list[Obj] = []

    async def answer(self, request: Request) -> Response:
        verb = request.path.rpartition("/")[2]
        self.asked.append(verb)
        if self.broken:
            return Response(500, b"out of order")
        told = orjson.loads(request.body)
        return Response(200, orjson.dumps(getattr(self, verb)(told)))

    def filter(self, told: Obj) -> Obj:
        names = told["NodeNames"]
        return {"NodeNames": [each for each in names if each != "bad"], "FailedNodes": {"bad": "node(s) were bad"}}

    def prioritize(self, told: Obj) -> list[Obj]:
        return [{"Host": each, "Score": 10 if each == "last" else 0} for each in told["NodeNames"]]

    def preempt(self, told: Obj) -> Obj:
        victims = told["NodeNameToMetaVictims"]
        return {"NodeNameToMetaVictims": {name: each for name, each in victims.items() if name != "first"}}

    def bind(self, told: Obj) -> Obj:
        self.bound.append(told)
        return {}


Script = Callable[[Scene, Program], Awaitable[None]]
ALL = ExtenderSettings("", "filter", "prioritize", "preempt", weight=10, knows_nodes=True)


def extended(script: Script, settings: ExtenderSettings = ALL) -> None:
    program = Program()
    server = Server(program.answer)
    opened = asyncio.new_event_loop()
    # A port that is free now; the server itself runs inside the scene's loop.
    host, port = opened.run_until_complete(server.listen("127.0.0.1", 0))
    opened.run_until_complete(server.shutdown(0))
    opened.close()

    async def whole(scene: Scene) -> None:
        listening = Server(program.answer)
        await listening.listen(host, port)
        try:
            await script(scene, program)
        finally:
            await listening.shutdown(0)

    play(whole, extenders=[replace(settings, url=f"http://{host}:{port}/extend")])


def test_it_refuses_nodes_and_prefers_others():
    async def script(scene: Scene, program: Program) -> None:
        for name in ("bad", "first", "last"):
            await scene.cluster.create(NODES, node(name))
        await scene.cluster.create(PODS, pod("p"))
        await scene.bound("p")
        assert await scene.node_of("p") == "last"
        assert program.asked == ["filter", "prioritize"]

    extended(script)


def test_its_words_reach_people():
    async def script(scene: Scene, program: Program) -> None:
        await scene.cluster.create(NODES, node("bad"))
        await scene.cluster.create(NODES, node("small", "500m"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(5)
        condition = facts.condition(await scene.cluster.get(PODS, "default/p"), "PodScheduled")
        assert condition is not None
        assert condition["message"].startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were bad. ")
        # Whatever happens, it may think otherwise.
        await scene.cluster.create(NODES, node("good"))
        await scene.bound("p")

    extended(script)


def test_one_that_fails_keeps_the_pod_waiting_unless_it_may_be_skipped():
    async def needed(scene: Scene, program: Program) -> None:
        program.broken = True
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(5)
        condition = facts.condition(await scene.cluster.get(PODS, "default/p"), "PodScheduled")
        assert condition is not None
        assert condition["reason"] == "SchedulerError"
        assert condition["message"].startswith("failed filter with extender at URL")
        program.broken = False
        await scene.bound("p")

    async def skipped(scene: Scene, program: Program) -> None:
        program.broken = True
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.bound("p")

    extended(needed)
    extended(skipped, replace(ALL, ignorable=True))


def test_it_has_its_word_on_whom_to_evict():
    async def script(scene: Scene, program: Program) -> None:
        for name in ("first", "second"):
            await scene.cluster.create(NODES, node(name, "1"))
        for name in ("low-1", "low-2"):
            await scene.cluster.create(PODS, pod(name))
        await scene.bound("low-1", "low-2")
        await scene.cluster.create(PODS, pod("high", priorityClassName="system-node-critical"))
        await scene.bound("high")
        assert await scene.node_of("high") == "second"

    extended(script)


def test_it_binds_pods_that_want_its_resources():
    async def script(scene: Scene, program: Program) -> None:
        made = node("a")
        made["status"]["allocatable"] = made["status"]["capacity"] = {**made["status"]["capacity"], "example.com/own": "1"}
        await scene.cluster.create(NODES, made)
        container = {"name": "c", "image": "i", "resources": {"limits": {"example.com/own": "1"}}}
        await scene.cluster.create(PODS, pod("own", containers=[container]))
        await scene.cluster.create(PODS, pod("other"))
        await scene.bound("other")
        await scene.cluster.settle()
        assert [(each["PodName"], each["Node"]) for each in program.bound] == [("own", "a")]

    extended(script, ExtenderSettings("", bind_verb="bind", resources=frozenset(("example.com/own",))))


def test_a_pod_that_goes_while_it_is_asked_is_let_go():
    async def script(scene: Scene, program: Program) -> None:
        await scene.cluster.create(NODES, node("a"))
        answer = program.filter

        def slow(told: Obj) -> Obj:
            asyncio.get_running_loop().create_task(scene.cluster.delete(PODS, "default/p", gracePeriodSeconds=0))
            return answer(told)

        program.filter = slow  # type: ignore[method-assign]
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(5)
        state = scene.scheduler.state
        assert await scene.cluster.list(PODS) == []
        assert len(state.queue) == 0
        assert len(state.pods) == 0
        assert not state.trying

    extended(script)
