"""For tests of scheduler plugins: nodes and pods in one line each, and a scheduler's state without an API server.

    bench = Bench(MyPlugin())
    bench.nodes(make_node("a"), make_node("b", labels={"disk": "ssd"}))
    assert bench.feasible(make_pod("p", cpu="1")) == ["b"]

`check_promises` tries what the scheduler relies on, whatever the plugin does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER, ProfileSettings
from tiphys.scheduler.cycle import Cycle, Placed, Unplaced
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import BEST, Filter, Plugin, Score
from tiphys.scheduler.profiles import build
from tiphys.scheduler.state import State


def make_node(name: str, *, labels: dict[str, str] | None = None, taints: Sequence[Obj] = (), **more: Any) -> Obj:
    """With 4 CPUs, 8Gi of memory and room for 110 pods, if `amounts` do not say otherwise; `more` goes into its status."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **more.pop("amounts", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": list(taints), **more.pop("spec", {})},
        "status": {"allocatable": amounts, "capacity": amounts, **more},
    }


def make_pod(name: str, *, cpu: str = "", memory: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    """With one container, if `spec` does not say otherwise."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {
            "schedulerName": DEFAULT_SCHEDULER,
            "containers": [{"name": "c", "image": "image", "resources": {"requests": requests}}],
            **spec,
        },
    }


def bound(pod: Obj, node: str) -> Obj:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


class Bench:
    """A state with one profile: upstream's default plugins, and these. `try_pod` says what would become of a pod."""

    def __init__(self, *plugins: Plugin, settings: ProfileSettings | None = None) -> None:
        makers = {each.name: lambda _, __, each=each: each for each in plugins}
        chosen = settings or ProfileSettings()
        self.state = State(lambda cluster: {DEFAULT_SCHEDULER: build(chosen, cluster, makers, makers)}, lambda _: 0)

    @property
    def cycle(self) -> Cycle:
        return self.state.cycles[DEFAULT_SCHEDULER]

    def nodes(self, *nodes: Obj) -> "Bench":
        for each in nodes:
            self.state.node_changed(None, each, 0.0)
        return self

    def running(self, *pods: Obj) -> "Bench":
        """Pods that have their nodes: `bound(make_pod("p"), "a")`."""
        for each in pods:
            self.state.pod_changed(None, each, 0.0)
        return self

    def try_pod(self, pod: Obj) -> Placed | Unplaced:
        return self.cycle.schedule(pod_info.of(pod), 0.0)

    def feasible(self, pod: Obj) -> list[str]:
        """Names of the nodes that can take it."""
        return sorted(self.totals(pod))

    def totals(self, pod: Obj) -> dict[str, int]:
        """Of the nodes that can take it, the sum of all weighted scores."""
        nodes = self.try_pod(pod).decision.explain()["nodes"]
        return {name: told["total"] for name, told in nodes.items() if "total" in told}

    def scores(self, pod: Obj, plugin: str) -> dict[str, int]:
        """What one plugin gives to the nodes that can take it, with its weight."""
        nodes = self.try_pod(pod).decision.explain()["nodes"]
        return {name: told["scores"].get(plugin, 0) for name, told in nodes.items() if "total" in told}

    def reasons(self, pod: Obj) -> dict[str, list[str]]:
        """Of the nodes that cannot take it: why not."""
        nodes = self.try_pod(pod).decision.explain()["nodes"]
        told = {name: [each["reason"] for each in about["refusedBy"]] for name, about in nodes.items()}
        return {name: reasons for name, reasons in told.items() if reasons}


def check_promises(plugin: Plugin, bench: Bench, pod: Obj) -> None:
    """AssertionError where it breaks one. `bench` has some nodes and pods that the plugin has something to say of."""
    table, info = bench.state.table, pod_info.of(pod)
    assert plugin.name, "a plugin has a name"
    nodes = table.all()
    before = table.requested.copy(), table.pod_count.copy()
    if isinstance(plugin, Filter):
        assert plugin.unblocked_by is not Event.NOTHING, "whoever refuses says which events could help (unblocked_by)"
        no = plugin.filter(info, nodes)
        refused = nodes.nothing() if no is None else no.rows & nodes.present
        for row in np.flatnonzero(nodes.present):
            one = plugin.filter(info, table.only(int(row)))
            alone = one is not None and bool(one.rows[0])
            assert alone == refused[row], f"{table.names[row]} is judged differently alone than among all"
        if no is not None:
            told = nodes.nothing()
            for reason in no.reasons:
                told |= reason.rows
            assert not (refused & ~told).any(), "every node that is refused is told why"
    if isinstance(plugin, Score):
        scores = plugin.score(info, nodes)
        if scores is not None:
            seen = scores[nodes.feasible]
            assert ((seen >= 0) & (seen <= BEST)).all(), f"scores are from 0 to {BEST}"
    assert (table.requested == before[0]).all(), "a plugin changes nothing"
    assert (table.pod_count == before[1]).all(), "a plugin changes nothing"
