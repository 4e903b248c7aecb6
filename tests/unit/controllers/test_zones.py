"""Who may be evicted when much is ill. v1.36.4 pkg/controller/nodelifecycle/node_lifecycle_controller_test.go
(TestMonitorNodeHealthEvictPodsWithDisruption), https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction."""

import pytest

from tiphys.controllers.node_lifecycle import NodeLifecycleSettings
from tiphys.controllers.node_lifecycle.zones import EXCLUDED, Zones, zone_of


def node(name, zone="a", **labels):
    return {"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone, **labels}}}


def zones(ready, ill, others=1, large=50):
    """Zone a with so many nodes, and zone b where all are well."""
    found = Zones(NodeLifecycleSettings(large_zone=large))
    for number in range(ready):
        found.saw(node(f"ready-{number}"), ready=True)
    for number in range(ill):
        found.saw(node(f"ill-{number}"), ready=False)
    for number in range(others):
        found.saw(node(f"other-{number}", "b"), ready=True)
    return found


@pytest.mark.parametrize(
    ("ready", "ill", "others", "large", "pause"),
    [
        (5, 2, 1, 50, 10.0),
        (1, 2, 1, 50, 10.0),
        (2, 3, 1, 50, None),
        (2, 3, 1, 4, 100.0),
        (3, 3, 1, 4, 10.0),
        (0, 3, 1, 50, 10.0),
        (0, 3, 0, 50, None),
    ],
)
def test_how_many_at_a_time(ready, ill, others, large, pause):
    found = zones(ready, ill, others, large)
    first = found.turn_of(node("ill-0"), 1000.0)
    assert first == (None if pause is None else 0.0)
    assert found.turn_of(node("ill-1"), 1000.0) == pause
    if pause is not None:
        assert found.turn_of(node("ill-0"), 1001.0) == 0.0, "what was granted once is not asked for again"
        assert found.turn_of(node("ill-1"), 1000.0 + pause) == 0.0


def test_zones_do_not_wait_for_each_other():
    found = zones(5, 1)
    found.saw(node("other-ill", "b"), ready=False)
    assert found.turn_of(node("ill-0"), 0.0) == found.turn_of(node("other-ill", "b"), 0.0) == 0.0


def test_all_are_lost_only_if_no_zone_has_a_ready_node():
    found = zones(0, 2, others=0)
    assert found.all_lost
    found.saw(node("other", "b"), ready=True)
    assert not found.all_lost
    found.saw(node("other", "b"), ready=False)
    assert found.all_lost
    found.forget("other")
    found.saw(node("ill-0"), ready=True)
    assert not found.all_lost
    found.forget("ill-0")
    found.forget("ill-1")
    assert not found.all_lost


def test_some_nodes_do_not_count_and_some_move():
    found = zones(0, 1, others=0)
    found.saw(node("spare", **{EXCLUDED: ""}), ready=True)
    assert found.all_lost
    found.saw(node("spare"), ready=True)
    assert not found.all_lost
    found.saw(node("spare", "b"), ready=True)
    assert not found.all_lost
    assert found.turn_of(node("ill-0"), 0.0) == 0.0


def test_a_zone_is_a_region_too_and_old_labels_come_first():
    assert zone_of({"metadata": {"name": "n"}}) == ("", "")
    labels = {"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}
    assert zone_of({"metadata": {"name": "n", "labels": labels}}) == ("r", "z")
    old = {**labels, "failure-domain.beta.kubernetes.io/zone": "old"}
    assert zone_of({"metadata": {"name": "n", "labels": old}}) == ("r", "old")
