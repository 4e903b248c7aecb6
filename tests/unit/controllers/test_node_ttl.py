"""v1.36.4 pkg/controller/ttl/ttl_controller.go."""

import pytest

from tiphys.controllers.node_ttl import ANNOTATION, NodeTtlController, World, step_for
from tiphys.controllers.plan import Patch


@pytest.mark.parametrize(
    ("count", "before", "after"),
    [(0, 0, 0), (100, 0, 0), (101, 0, 1), (95, 1, 1), (89, 1, 0), (5000, 0, 4), (1900, 4, 4), (1799, 4, 3), (1, 4, 0)],
)
def test_a_node_more_or_less_changes_nothing(count: int, before: int, after: int):
    assert step_for(count, before) == after


@pytest.mark.parametrize(("told", "written"), [({}, True), ({ANNOTATION: "x"}, True), ({ANNOTATION: "15"}, False)])
def test_the_node_is_told_once(told: dict[str, str], written: bool):
    node = {"metadata": {"name": "n", "uid": "n", "annotations": told}}
    writes = NodeTtlController.reconcile(World(node, 15)).writes
    assert [write.patch["metadata"]["annotations"] for write in writes if isinstance(write, Patch)] == (
        [{ANNOTATION: "15"}] if written else []
    )
