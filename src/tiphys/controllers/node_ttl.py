"""How long kubelets may keep Secrets and ConfigMaps without asking anew: the more nodes there are, the longer. An annotation of
each node says it."""

from dataclasses import dataclass

from tiphys.api.core.nodes import NODES
from tiphys.controllers.controller import Base, Caches, own
from tiphys.controllers.numbers import whole
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Patch, Plan
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

ANNOTATION = "node.alpha.kubernetes.io/ttl"
STEPS = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 2**31, 300))
"""Fewest nodes, most nodes, seconds. They overlap, so that a node more or less does not change all of them."""


@dataclass(frozen=True, slots=True)
class World:
    node: Obj
    seconds: int


def step_for(count: int, step: int) -> int:
    """The step for so many nodes, `step` being the one so far."""
    while count > STEPS[step][1]:
        step += 1
    while count < STEPS[step][0]:
        step -= 1
    return step


class NodeTtlController(Base):
    name = "ttl-controller"
    component = "ttl-controller"
    watches = (own(NODES),)

    def __init__(self) -> None:
        self._step = 0

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        self._step = step_for(len(caches[NODES]), self._step)
        node = caches[NODES].get(key)
        return World(node, STEPS[self._step][2]) if node is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        if whole(meta.annotations(world.node).get(ANNOTATION)) == world.seconds:
            return NOTHING
        change = {"metadata": {"uid": meta.uid(world.node), "annotations": {ANNOTATION: str(world.seconds)}}}
        return Plan((Patch(NODES, world.node, change, tolerate=NOT_FOUND),))
