"""Conditions become taints; silence is noticed. v1.36.4 pkg/controller/nodelifecycle/node_lifecycle_controller.go."""

import pytest

from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.client.cache import Cache
from tiphys.controllers.controller import Caches, named
from tiphys.controllers.node_lifecycle import NodeLifecycleController, NodeLifecycleSettings, World, decide, wanted_taints
from tiphys.controllers.plan import Emit, Patch, Update

NOW = 1_700_000_000.0
GRACE = NodeLifecycleSettings().grace
STARTUP_GRACE = NodeLifecycleSettings().startup_grace


def node(*conditions, taints=(), unschedulable=False, created="2023-11-14T22:00:00Z"):
    spec = {"taints": list(taints)} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "creationTimestamp": created},
        "spec": spec,
        "status": {"conditions": [{"type": kind, "status": status, "reason": "Kubelet"} for kind, status in conditions]},
    }


def world(of, silent=0.0, pods=(), ever_heard=True):
    return World(of, tuple(pods), silent, ever_heard, NOW)


def keys(taints):
    return [(each["key"].rpartition("/")[2], each["effect"]) for each in taints]


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ([("Ready", "True")], []),
        ([("Ready", "False")], [("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]),
        ([("Ready", "Unknown")], [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]),
        ([("Ready", "True"), ("MemoryPressure", "True")], [("memory-pressure", "NoSchedule")]),
        ([("Ready", "True"), ("DiskPressure", "True")], [("disk-pressure", "NoSchedule")]),
        ([("Ready", "True"), ("NetworkUnavailable", "True")], [("network-unavailable", "NoSchedule")]),
        ([], [("not-ready", "NoSchedule")]),
    ],
)
def test_conditions_become_taints(conditions, wanted):
    assert keys(wanted_taints(node(*conditions), NOW)) == wanted


def test_a_ready_node_loses_our_taints_and_keeps_other_peoples():
    mine = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    theirs = {"key": "dedicated", "effect": "NoSchedule", "value": "x"}
    plan = decide(world(node(("Ready", "True"), taints=[mine, theirs])))
    assert [each.obj["spec"]["taints"] for each in plan.writes] == [[theirs]]
    assert plan.again_in == GRACE


def test_a_cordoned_node_is_tainted():
    assert keys(wanted_taints(node(("Ready", "True"), unschedulable=True), NOW)) == [("unschedulable", "NoSchedule")]


def test_a_silent_node_is_declared_unknown_once():
    plan = decide(world(node(("Ready", "True"), ("MemoryPressure", "False")), silent=GRACE))
    (write,) = plan.writes
    assert isinstance(write, Update)
    assert write.subresource == "status"
    assert {each["status"] for each in write.obj["status"]["conditions"]} == {"Unknown"}
    assert write.done is not None
    assert write.done.reason == "NodeNotReady"
    after = decide(world(write.obj, silent=GRACE + 5))
    assert [each.subresource for each in after.writes] == [""]
    assert keys(after.writes[0].obj["spec"]["taints"]) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
    assert decide(world(after.writes[0].obj, silent=GRACE + 9)).writes == ()


def test_a_node_that_never_spoke_is_given_longer():
    fresh = node(taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    assert decide(world(fresh, silent=GRACE, ever_heard=False)).writes == ()
    (write,) = decide(world(fresh, silent=STARTUP_GRACE, ever_heard=False)).writes
    assert {each["reason"] for each in write.obj["status"]["conditions"]} == {"NodeStatusNeverUpdated"}


def test_ready_pods_of_a_lost_node_stop_serving():
    pod = {
        "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    lost = node(("Ready", "Unknown"), taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}])
    patches = [each for each in decide(world(lost, pods=[pod])).writes if isinstance(each, Patch)]
    assert [each.patch["status"]["conditions"][0]["status"] for each in patches] == ["False"]


def lost(**more):
    """A node that does not answer, and what is known beside that."""
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    unknown = [(kind, "Unknown") for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")]
    return World(node(*unknown, taints=[taint]), (), GRACE + 1, ever_heard=True, now=NOW, **more)


@pytest.mark.parametrize(
    ("more", "evicted", "again"),
    [
        ({}, True, 5.0),
        ({"evict_in": 3.0}, False, 3.0),
        ({"evict_in": 100.0}, False, 5.0),
        ({"evict_in": None}, False, 5.0),
        ({"spared": True}, False, 5.0),
    ],
)
def test_its_pods_go_when_it_is_its_turn(more, evicted, again):
    plan = decide(lost(**more))
    taints = [keys(each.obj["spec"]["taints"]) for each in plan.writes if isinstance(each, Update) and not each.subresource]
    assert (("unreachable", "NoExecute") in (taints or [[]])[0]) == evicted
    assert plan.again_in == again


def test_those_that_were_to_lose_their_pods_are_spared_when_all_are_lost():
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    found = node(("Ready", "Unknown"), taints=taints)
    assert keys(wanted_taints(found, NOW, spared=True)) == [("unreachable", "NoSchedule")]
    assert keys(wanted_taints(found, NOW, evict_in=None)) == [("unreachable", effect) for effect in ("NoSchedule", "NoExecute")]


def test_one_taint_takes_the_place_of_the_other_at_once():
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    found = wanted_taints(node(("Ready", "Unknown"), taints=taints), NOW, evict_in=None)
    assert keys(found) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]


def test_nodes_that_come_and_go_are_told_of():
    fresh = World(node(("Ready", "True")), (), 0.0, ever_heard=True, now=NOW, new=True)
    (note,) = [each.note for each in decide(fresh).writes if isinstance(each, Emit)]
    assert (note.reason, note.message) == ("RegisteredNode", "Node n event: Registered Node n in Controller")
    gone = World(node(), (), 0.0, ever_heard=True, now=NOW, gone=True)
    (write,) = decide(gone).writes
    assert write.note.message == "Node n event: Removing Node n from Controller"


def test_old_labels_say_what_the_new_ones_say():
    found = node(("Ready", "True"))
    found["metadata"]["labels"] = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "x"}
    (write,) = decide(world(found)).writes
    labels = write.obj["metadata"]["labels"]
    assert (labels["beta.kubernetes.io/os"], labels["beta.kubernetes.io/arch"]) == ("linux", "arm64")


def test_a_node_that_is_well_costs_little_until_it_changes_or_falls_silent():
    controller = NodeLifecycleController()
    caches = Caches({named(kind): Cache(kind) for kind in (NODES, LEASES, PODS)})

    def turn(now):
        found = controller.observe("n", caches, now)
        return found.fine, controller.reconcile(found)

    well = node(("Ready", "True"))
    well["metadata"]["uid"] = "u"
    caches[NODES].put(well)
    fine, plan = turn(NOW)
    assert [each.note.reason for each in plan.writes] == ["RegisteredNode"]
    assert [turn(NOW + 1)[0], turn(NOW + 2)[0]] == [False, True]
    fine, plan = turn(NOW + 10)
    assert (fine, plan.writes, plan.again_in) == (True, (), GRACE - 10)
    fine, plan = turn(NOW + GRACE)
    assert not fine
    assert plan.writes[0].subresource == "status"
    caches[NODES].put(
        {**well, "spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    )
    watch = next(each for each in controller.watches if each.kind is LEASES)
    watch.heard({"metadata": {"name": "n", "namespace": "kube-node-lease"}, "spec": {"renewTime": "2"}}, NOW + GRACE + 1)
    caches[LEASES].put({"metadata": {"name": "n", "namespace": "kube-node-lease"}})
    fine, plan = turn(NOW + GRACE + 1)
    assert not fine
    assert keys(plan.writes[0].obj["spec"]["taints"]) == [("unschedulable", "NoSchedule")]


def test_renewals_are_heard_without_a_turn():
    controller = NodeLifecycleController()
    caches = Caches({named(kind): Cache(kind) for kind in (NODES, LEASES, PODS)})
    caches[NODES].put(node(("Ready", "True")))
    lease = {"metadata": {"name": "n", "namespace": "kube-node-lease"}, "spec": {"renewTime": "1"}}
    (watch,) = (each for each in controller.watches if each.kind is LEASES)
    assert list(watch.keys(None, lease, caches)) == []
    caches[LEASES].put(lease)
    watch.heard(lease, NOW)
    assert controller.observe("n", caches, NOW).silent == 0.0
    assert controller.observe("n", caches, NOW + 40).silent == 40.0
    watch.heard({**lease, "spec": {"renewTime": "2"}}, NOW + 30)
    watch.heard({**lease, "spec": {"renewTime": "2"}}, NOW + 35)
    assert controller.observe("n", caches, NOW + 40).silent == 10.0


def test_nodes_that_are_due_at_about_the_same_time_are_looked_at_together():
    waits = [decide(world(node(("Ready", "True")), silent=silent)).again_in for silent in (0.3, 2.0, 4.9, 5.1)]
    assert waits == [50.0, 50.0, 50.0, 45.0]
