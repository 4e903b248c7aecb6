"""Nodes judged at once, each as if the lower pods on it were gone, or one after the other: the answers are the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import ProfileSettings
from tiphys.scheduler.cycle import Placed
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Base, Refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.one_node import Node, OneNodePlugin, Rejected
from tiphys.scheduler.opinion import Opinion
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.testing import Bench, bound, make_node, make_pod

NODES = ("a", "b", "c", "d", "e")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINT = {"key": "hard", "value": "1", "effect": "NoSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
DRIVER = "disks.example.com"


class Silent(Base):
    """It refuses nobody, but nothing is known of what it looks at."""

    name = "Silent"
    unblocked_by = Event.NODE_ADDED

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        return None


class FewGreen(OneNodePlugin):
    """A user's own."""

    name = "FewGreen"
    unblocked_by = Event.POD_DELETED

    def judge(self, pod: PodInfo, node: Node) -> Rejected | None:
        green = sum(each.labels.get("app") == "green" for each in node.pods)
        return Rejected("it is green enough") if green > 1 and node.free("cpu") < 3000 else None


def term(key: str, app: str) -> Obj:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def sometimes(theme: str, name: str, strategy: Any) -> Any:
    """Often if the story is about that."""
    often = 6 if theme == name else 1
    return st.integers(0, 9).flatmap(lambda at: strategy if at < often else st.none())


apps, keys = st.sampled_from(("red", "green")), st.sampled_from((HOST, ZONE))
terms = st.builds(term, keys, apps)
spreads = st.fixed_dictionaries(
    {"key": keys, "app": apps, "skew": st.integers(1, 2), "domains": st.sampled_from((1, 1, 3)), "honors": st.booleans()}
)
nodes = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("1", "2", "4")),
        "memory": st.sampled_from(("2Gi", "8Gi")),
        "pods": st.sampled_from(("2", "4", "110")),
        "gpu": st.sampled_from(("", "1", "2")),
        "tainted": st.sampled_from((False, False, False, True)),
        "zone": st.sampled_from(("x", "y", "y", "")),
        "volumes": st.sampled_from((None, None, 1, 2)),
        "attached": st.sampled_from((None, None, 0, 1)),
        "devices": st.integers(0, 2),
    }
)
THEMES = ("away", "near", "spread", "port", "claim", "disk", "device")


def pods(theme: str) -> Any:
    return st.fixed_dictionaries(
        {
            "node": st.sampled_from(NODES),
            "cpu": st.sampled_from(("", "500m", "1", "2")),
            "memory": st.sampled_from(("", "500Mi", "1Gi")),
            "gpu": st.sampled_from(("", "", "1")),
            "app": st.sampled_from(("", "red", "green")),
            "away": sometimes(theme, "away", terms),
            "near": sometimes(theme, "near", terms),
            "spread": sometimes(theme, "spread", spreads),
            "port": sometimes(theme, "port", st.sampled_from(("0.0.0.0", "10.0.0.1", "10.0.0.2"))),
            "claim": sometimes(theme, "claim", st.integers(0, 3)),
            "disk": sometimes(theme, "disk", st.booleans()),
            "device": sometimes(theme, "device", st.integers(0, 2)),
            "deleting": st.sampled_from((False, False, False, True)),
            "priority": st.integers(-1, 3),
            "started": st.integers(0, 3),
        }
    )


def clusters(theme: str) -> Any:
    return st.fixed_dictionaries(
        {
            "nodes": st.lists(nodes, min_size=1, max_size=len(NODES)),
            "there": st.lists(pods(theme), min_size=4, max_size=14),
            "nominated": st.lists(pods(theme), max_size=2),
            "allowed": st.none() | st.integers(0, 2),
            "disrupted": st.booleans(),
            "least": st.sampled_from((1, 2, 100)),
            "behind": st.sampled_from((False, False, True)),
            "waiting": st.lists(st.tuples(pods(theme), st.integers(1, 5)), min_size=1, max_size=4),
        }
    )


def node_of(number: int, told: dict[str, Any]) -> Obj:
    amounts = {name: told[name] for name in ("cpu", "memory", "pods")}
    if told["gpu"]:
        amounts["example.com/gpu"] = told["gpu"]
    labels = {ZONE: told["zone"]} if told["zone"] else {}
    return make_node(NODES[number], amounts=amounts, labels=labels, taints=(TAINT,) if told["tainted"] else ())


def spec_of(told: dict[str, Any]) -> Obj:
    spec: Obj = {"affinity": {}, "volumes": []}
    if told["away"]:
        spec["affinity"]["podAntiAffinity"] = {REQUIRED: [told["away"]]}
    if told["near"]:
        spec["affinity"]["podAffinity"] = {REQUIRED: [told["near"]]}
    if told["spread"]:
        spread = told["spread"]
        more = {"maxSkew": spread["skew"], "minDomains": spread["domains"], "whenUnsatisfiable": "DoNotSchedule"}
        more["nodeTaintsPolicy"] = "Honor" if spread["honors"] else "Ignore"
        spec["topologySpreadConstraints"] = [{**term(spread["key"], spread["app"]), **more}]
    if told["claim"] is not None:
        spec["volumes"].append({"name": "claim", "persistentVolumeClaim": {"claimName": f"claim-{told['claim']}"}})
    if told["device"] is not None:
        spec["resourceClaims"] = [{"name": "one", "resourceClaimName": f"device-{told['device']}"}]
    if told["disk"] is not None:
        spec["volumes"].append({"name": "disk", "gcePersistentDisk": {"pdName": "disk", "readOnly": told["disk"]}})
    return spec


def pod_of(name: str, number: int, told: dict[str, Any], priority: int) -> Obj:
    labels = {"app": told["app"]} if told["app"] else {}
    made = make_pod(name, cpu=told["cpu"], memory=told["memory"], labels=labels, priority=priority, **spec_of(told))
    container = made["spec"]["containers"][0]
    if told["gpu"]:
        container["resources"]["requests"]["example.com/gpu"] = told["gpu"]
    if told["port"]:
        container["ports"] = [{"hostPort": 80, "hostIP": told["port"]}]
    if number:
        # No two at the same time: of pods that are alike it does not matter who goes.
        made["status"] = {"startTime": f"2026-01-01T0{told['started']}:{number:02}:00Z"}
    return made


def storage(told: dict[str, Any], bench: Bench) -> None:
    """Four claims: the last is for one pod alone, and two are of one volume."""
    cluster = bench.state.cluster
    for number in range(4):
        name, handle = f"claim-{number}", f"handle-{min(number, 2)}"
        volume = {"metadata": {"name": name}, "spec": {"csi": {"driver": DRIVER, "volumeHandle": handle}}}
        claim = {
            "metadata": {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": name, "accessModes": ["ReadWriteOncePod" if number == 3 else "ReadWriteMany"]},
            "status": {"phase": "Bound"},
        }
        cluster.volumes[name] = volume
        cluster.claims.setdefault("default", {})[name] = claim
    for number, each in enumerate(told["nodes"]):
        name = NODES[number]
        if each["volumes"] is not None:
            drivers = [{"name": DRIVER, "allocatable": {"count": each["volumes"]}}]
            cluster.csi_nodes[name] = {"metadata": {"name": name}, "spec": {"drivers": drivers}}
        if each["attached"] is not None:
            source = {"persistentVolumeName": f"claim-{each['attached']}"}
            cluster.attachments[name] = {"spec": {"attacher": DRIVER, "nodeName": name, "source": source}}


def devices(told: dict[str, Any], bench: Bench) -> None:
    """Three claims, of one to three devices; the class may stand behind a resource that some nodes have by themselves."""
    cluster = bench.state.cluster
    behind = {"extendedResourceName": "example.com/gpu"} if told["behind"] else {}
    cluster.device_classes["gpu"] = {"metadata": {"name": "gpu"}, "spec": behind}
    for number, each in enumerate(told["nodes"]):
        name = NODES[number]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        offered = [{"name": f"gpu-{at}"} for at in range(each["devices"])]
        spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": offered}
        cluster.resource_slices[name] = {"metadata": {"name": name}, "spec": spec}
    for number in range(3):
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": number + 1}
        metadata = {"name": f"device-{number}", "namespace": "default", "uid": f"device-{number}"}
        spec = {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}
        cluster.resource_claims.changed(None, {"metadata": metadata, "spec": spec})


def built(told: dict[str, Any], bench: Bench) -> Bench:
    storage(told, bench)
    devices(told, bench)
    bench.nodes(*(node_of(number, each) for number, each in enumerate(told["nodes"])))
    for number, each in enumerate(told["there"]):
        made = pod_of(f"there-{number}", number, each, each["priority"])
        if each["deleting"]:
            made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        bench.running(bound(made, each["node"]))
    for number, each in enumerate(told["nominated"]):
        waiting = pod_of(f"waiting-{number}", 20 + number, each, each["priority"])
        bench.running({**waiting, "status": {"nominatedNodeName": each["node"]}})
    if told["allowed"] is not None:
        status: Obj = {"disruptionsAllowed": told["allowed"]}
        if told["disrupted"]:
            status["disruptedPods"] = {f"there-{number}": "2026-01-01T00:00:00Z" for number in range(0, 14, 2)}
        chosen = ({"matchLabels": {"app": "green"}}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]})
        for number, selector in enumerate(chosen):
            bench.state.cluster.budgets.setdefault("default", {})[f"{number}"] = {
                "spec": {"selector": selector},
                "status": {**status, "disruptionsAllowed": told["allowed"] + 2 * number},
            }
    return bench


def told_of(bench: Bench, pod: Obj) -> Any:
    """What is decided, and carried out at once."""
    outcome = bench.try_pod(pod)
    state = bench.state
    if isinstance(outcome, Placed):
        state.pods.assume(pod_info.of(pod), outcome.node)
        return outcome.node
    said = [(each.node, [victim.name for victim in each.pods], each.violations) for each in outcome.candidates]
    if outcome.victims is not None:
        for victim in outcome.victims.pods:
            state.pods.remove(victim.uid)
        state.pods.assume(pod_info.of(pod), outcome.victims.node)
    return outcome.message, said, outcome.victims and outcome.victims.node


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(THEMES).flatmap(clusters), st.booleans())
def test_the_same_victims_and_words_as_node_by_node(cluster: dict[str, Any], own: bool):
    effort = {"DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": cluster["least"]}}
    chosen = ProfileSettings(arguments=effort)
    theirs = (FewGreen(),) if own else ()
    at_once, one_by_one = (built(cluster, Bench(*theirs, *more, settings=chosen)) for more in ((), (Silent(),)))
    for number, (told, priority) in enumerate(cluster["waiting"]):
        pod = pod_of(f"comer-{number}", 30 + number, told, priority)
        assert at_once.cycle.filtering.together(pod_info.of(pod)) is not None
        assert one_by_one.cycle.filtering.together(pod_info.of(pod)) is None
        assert told_of(at_once, pod) == told_of(one_by_one, pod)


RED = {"labels": {"app": "red"}}
AWAY = {"affinity": {"podAntiAffinity": {REQUIRED: [term(HOST, "red")]}}}
EVEN = {**term(HOST, "red"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, []),
        (AWAY, ["InterPodAffinity"]),
        (RED, ["InterPodAffinity"]),
        ({"labels": {"app": "green"}}, []),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            ["VolumeRestrictions", "NodeVolumeLimits"],
        ),
        ({"topologySpreadConstraints": [EVEN]}, ["PodTopologySpread"]),
    ],
)
def test_sums_are_enough_for_those_to_whom_nothing_else_about_other_pods_matters(more: Any, asked: list[str]):
    bench = Bench().nodes(make_node("a"))
    bench.running(bound(make_pod("rival", **AWAY), "a"))
    found = bench.cycle.filtering.together(pod_info.of(make_pod("more", cpu="1", **more)))
    assert found is not None
    assert found.sums == {"pods", "cpu"}
    assert [each.name for each in found.asked] == asked


def test_a_pod_that_is_to_come_may_keep_others_away():
    bench = Bench().nodes(make_node("a"))
    rival = make_pod("rival", **AWAY, priority=9)
    bench.running({**rival, "status": {"nominatedNodeName": "a"}})
    together = bench.cycle.filtering.together
    for labels, priority, many in (("red", 0, 1), ("green", 0, 0), ("red", 10, 0)):
        found = together(pod_info.of(make_pod("comer", cpu="1", labels={"app": labels}, priority=priority)))
        assert found is not None
        assert len(found.asked) == many


def test_a_pod_that_has_come_where_it_was_to_come_counts_once():
    bench = Bench().nodes(make_node("a"))
    come = make_pod("come", cpu="3", priority=9)
    bench.running({**come, "status": {"nominatedNodeName": "a"}}, bound(make_pod("low", cpu="1"), "a"))
    bench.state.pods.assume(pod_info.of(come), "a")
    assert told_of(bench, make_pod("more", cpu="1", priority=5))[1] == [("a", ["low"], 0)]


# v1.36.4 pkg/scheduler/framework/preemption/preemption.go (DryRunPreemption)
@pytest.mark.parametrize("more", [(), (Silent(),)])
def test_evicting_nobody_is_no_answer(more: Any):
    bench = Bench(*more).nodes(make_node("a")).running(bound(make_pod("low", cpu="1"), "a"))
    pod = pod_info.of(make_pod("more", cpu="1", priority=5))
    outcome = bench.cycle.schedule(pod, 0.0, Opinion(frozenset(), {"a": ("not today", True)}))
    assert not isinstance(outcome, Placed)
    assert outcome.victims is None
    told = '0/1 nodes are available: 1 not today. preemption: expected at least one victim pod on node "a"'
    assert outcome.message == told
