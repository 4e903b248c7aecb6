"""The phases after a node has been chosen, with plugins of somebody's own: v1.36.4 pkg/scheduler/schedule_one.go."""

from tests.sim.scheduler.scene import Scene, node, play, pod

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.client.interface import Client
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER, ProfileSettings
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Base, Permission
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import build
from tiphys.scheduler.state import State


class Witness(Base):
    """Takes part in everything, and remembers."""

    name = "Witness"
    unblocked_by = Event.NODE_LABELS

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.refusal = ""
        self.permission: Permission | None = None
        self.trouble = ""

    def reserve(self, pod: PodInfo, node: str) -> str:
        self.seen.append(f"reserve {node}")
        return self.refusal

    def unreserve(self, pod: PodInfo, node: str) -> None:
        self.seen.append(f"unreserve {node}")

    def permit(self, pod: PodInfo, node: str) -> Permission | None:
        self.seen.append("permit")
        return self.permission

    async def before_binding(self, pod: PodInfo, node: str, client: Client) -> None:
        if self.trouble:
            raise RuntimeError(self.trouble)
        found = await client.get(NODES, node)
        self.seen.append(f"before binding {found['metadata']['name']}")

    async def bind(self, pod: PodInfo, node: str, client: Client) -> bool:
        self.seen.append("bind")
        return False

    def bound(self, pod: PodInfo, node: str) -> None:
        self.seen.append("bound")


def witnessed(script: object, witness: Witness) -> None:
    def profiles(cluster: object) -> object:
        made = build(ProfileSettings(), cluster, {"Witness": lambda _, __: witness}, ["Witness"])  # type: ignore[arg-type]
        return {DEFAULT_SCHEDULER: made}

    play(script, State(profiles, lambda _: 0))  # type: ignore[arg-type]


async def message(scene: Scene) -> str:
    condition = facts.condition(await scene.cluster.get(PODS, "default/p"), "PodScheduled")
    assert condition is not None
    return f"{condition['reason']}: {condition['message']}"


def test_each_has_its_turn():
    witness = Witness()
    witness.permission = Permission(60)

    async def script(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a", "1"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(10)
        assert witness.seen == ["reserve a", "permit"]
        # The room is kept while it waits.
        await scene.cluster.create(PODS, pod("q"))
        await scene.cluster.settle(10)
        assert await scene.node_of("p") == await scene.node_of("q") == ""
        assert witness.permission is not None
        witness.permission.allow()
        await scene.bound("p")
        await scene.cluster.settle()
        assert witness.seen == ["reserve a", "permit", "before binding a", "bind", "bound"]

    witnessed(script, witness)


def test_a_refused_reservation_is_undone_and_waits_for_what_could_help():
    witness = Witness()
    witness.refusal = "node(s) were reserved"

    async def script(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(5)
        assert witness.seen == ["reserve a", "unreserve a"]
        assert await message(scene) == "Unschedulable: 0/1 nodes are available: 1 node(s) were reserved."
        witness.refusal = ""
        await scene.cluster.patch(NODES, "a", {"metadata": {"labels": {"new": "label"}}})
        await scene.bound("p")

    witnessed(script, witness)


def test_a_permission_that_does_not_come_is_a_refusal():
    witness = Witness()
    witness.permission = Permission(15)

    async def script(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(20)
        assert witness.seen == ["reserve a", "permit", "unreserve a"]
        assert "rejected due to timeout after waiting 15s at plugin Witness" in await message(scene)
        assert len(scene.scheduler.state.pods) == 0

    witnessed(script, witness)


def test_trouble_before_binding_is_told_and_tried_again():
    witness = Witness()
    witness.trouble = "no disk"

    async def script(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.cluster.settle(0.5)
        assert await message(scene) == "SchedulerError: no disk"
        witness.trouble = ""
        await scene.bound("p")

    witnessed(script, witness)
