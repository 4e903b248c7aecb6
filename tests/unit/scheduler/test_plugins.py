"""What every plugin promises, and plugins of one's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.cycle import Cycle, Placed
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import BEST, Filter, Plugin, Profile, Score, Weighted
from tiphys.scheduler.nominations import Nominations
from tiphys.scheduler.one_node import Node, OneNodePlugin, Rejected
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import default_profile

Maker = Callable[..., Obj]
PROFILE = default_profile(Cluster())


# v1.36.4 pkg/scheduler/apis/config/v1/default_plugins.go:33
def test_order_and_weights_are_upstreams():
    assert [each.name for each in PROFILE.filters] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]
    assert {each.plugin.name: each.weight for each in PROFILE.scorers} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


@pytest.mark.parametrize("plugin", PROFILE.filters, ids=lambda each: each.name)
def test_whoever_refuses_says_what_could_help(plugin: Filter):
    assert plugin.unblocked_by is not Event.NOTHING


def busy_pod(pod: Maker, number: int) -> Obj:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    weighted = [{"weight": 10, "podAffinityTerm": term}]
    preferred = [{"weight": 5, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]
    return pod(
        f"p{number}",
        cpu="100m",
        memory="1Gi",
        labels={"app": "x"},
        affinity={
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted},
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
        },
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": "x"}}}
            for when in ("DoNotSchedule", "ScheduleAnyway")
        ],
    )


@pytest.mark.parametrize("name", sorted(PROFILE.plugins()))
def test_a_plugin_changes_nothing_and_judges_one_node_as_it_judges_all(
    bench: Any, node: Maker, pod: Maker, on: Maker, name: str
):
    bench.nodes(*(node(f"n{at}", labels={"zone": "xyz"[at % 3]} if at else {}, amounts={"cpu": str(at)}) for at in range(6)))
    bench.running(*(on(busy_pod(pod, at), f"n{at % 4}") for at in range(5)))
    plugin: Plugin = bench.state.profiles["default-scheduler"].plugins()[name]
    info, table = pod_info.of(busy_pod(pod, 9)), bench.state.table
    before = (table.requested.copy(), table.pod_count.copy(), table.labels.version)
    if isinstance(plugin, Filter):
        refused = plugin.filter(info, table.all())
        whole = refused.rows if refused is not None else np.zeros(table.size, np.bool_)
        for row in range(table.size):
            alone = plugin.filter(info, table.only(row))
            assert bool(alone is not None and alone.rows[0]) == bool(whole[row])
    if isinstance(plugin, Score):
        scores = plugin.score(info, table.all())
        assert scores is None or (scores.min() >= 0 and scores.max() <= BEST)
    assert (before[0] == table.requested).all()
    assert (before[1] == table.pod_count).all()
    assert before[2] == table.labels.version


class Lucky(OneNodePlugin):
    """A user's plugin, as short as it can be."""

    name = "Lucky"
    unblocked_by = Event.NODE_ADDED

    def judge(self, pod: PodInfo, node: Node) -> Rejected | None:
        return Rejected("node(s) were unlucky", preemption_helps=False) if node.name.endswith("3") else None

    def rate(self, pod: PodInfo, node: Node) -> int:
        return min(node.free("cpu") // 100, 100)


def test_one_node_at_a_time(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("n1"), node("n3", amounts={"cpu": "10"}), node("n2", amounts={"cpu": "8"}))
    lucky = Lucky()
    profile = Profile("mine", filters=(lucky,), scorers=(Weighted(lucky, 1),), preemption=None)
    cycle = Cycle(bench.state.table, profile, Cluster(), Nominations(), lambda _: 0)
    outcome = cycle.schedule(pod_info.of(pod("p")), 0.0)
    assert isinstance(outcome, Placed)
    assert outcome.node == "n2"
    told = outcome.decision.explain()["nodes"]
    assert told["n3"]["refusedBy"] == [{"plugin": "Lucky", "reason": "node(s) were unlucky"}]
    assert told["n2"]["scores"] == {"Lucky": 80}
