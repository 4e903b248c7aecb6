"""Where the volumes of a pod let it go."""

from collections.abc import Callable
from typing import Any

import pytest

from tiphys.machinery.tree import Obj
from tiphys.scheduler.cycle import Placed, Unplaced

Maker = Callable[..., Obj]


def claim(name: str, volume: str = "", class_name: str = "local", size: str = "1Gi", **meta: Any) -> Obj:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": annotations, **meta},
        "spec": {
            "storageClassName": class_name,
            "volumeName": volume,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(name: str, node: str = "", size: str = "1Gi", labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    if node:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, **spec},
        "status": {"phase": "Available"},
    }


def storage_class(name: str, provisioner: str, **more: Any) -> Obj:
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **more}


@pytest.fixture
def trial(bench: Any, node: Maker) -> Any:
    bench.nodes(node("a", labels={"topology.kubernetes.io/zone": "x"}), node("b"))
    local = storage_class("local", "kubernetes.io/no-provisioner")
    bench.state.cluster.storage_classes.update({"local": local, "made": storage_class("made", "example.com/csi")})
    return bench


def give(trial: Any, *objects: Obj) -> None:
    for each in objects:
        if "namespace" in each["metadata"]:
            trial.state.cluster.claims.setdefault("default", {})[each["metadata"]["name"]] = each
        else:
            trial.state.cluster.volumes[each["metadata"]["name"]] = each


def using(pod: Maker, *claims: str, name: str = "p") -> Obj:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, volumes=volumes)


def words(outcome: Placed | Unplaced) -> str:
    assert isinstance(outcome, Unplaced)
    return outcome.message.partition(" no new claims")[0]


# v1.36.4 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (PreFilter, podHasPVCs)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, 'persistentvolumeclaim "c" not found'),
        (claim("c", deletionTimestamp="2026-01-01T00:00:00Z"), 'persistentvolumeclaim "c" is being deleted'),
        (claim("c", class_name="unknown"), "pod has unbound immediate PersistentVolumeClaims"),
        (
            {**claim("c", "gone"), "status": {"phase": "Lost"}},
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"',
        ),
    ],
)
def test_claims_that_no_node_could_serve(trial: Any, pod: Maker, given: Obj | None, expected: str):
    if given is not None:
        give(trial, given)
    # Nobody is preempted, and the last words are upstream's of a plugin that has not come to look at the pod.
    assert words(trial.try_pod(using(pod, "c"))) == f"0/2 nodes are available: {expected}. not found"


# v1.36.4 pkg/scheduler/framework/plugins/volumebinding/binder.go:44
def test_bound_volumes_say_where(trial: Any, pod: Maker):
    give(trial, claim("c", "v"), volume("v", "b"), claim("d", "w"), volume("w", "a"), claim("e", "gone"))
    assert trial.try_pod(using(pod, "c")).node == "b"
    assert words(trial.try_pod(using(pod, "c", "d"))) == (
        "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."
    )
    # v1.36.4 pkg/scheduler/framework/plugins/volumezone/volume_zone.go (getPVbyPod) has the word before the filters.
    assert words(trial.try_pod(using(pod, "e"))) == '0/2 nodes are available: persistentvolume "gone" not found. not found'


# v1.36.4 staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume)
def test_the_smallest_volume_that_is_large_enough(trial: Any, pod: Maker):
    give(trial, volume("big", "a", "5Gi"), volume("small", "a", "2Gi"), volume("tiny", "b", "1Gi"), claim("c", size="2Gi"))
    outcome = trial.try_pod(using(pod, "c"))
    assert outcome.node == "a"
    assert [(found["metadata"]["name"], wanted["metadata"]["name"]) for found, wanted in outcome.volumes.bindings] == [
        ("small", "c")
    ]


def test_two_claims_need_two_volumes(trial: Any, pod: Maker):
    give(trial, volume("one", "a"), volume("two", "b"), volume("three", "b"), claim("c"), claim("d"))
    outcome = trial.try_pod(using(pod, "c", "d"))
    assert outcome.node == "b"
    assert {found["metadata"]["name"] for found, _ in outcome.volumes.bindings} == {"two", "three"}


def test_what_is_promised_is_not_promised_again(trial: Any, pod: Maker):
    give(trial, volume("one", "a"), claim("c"), claim("d"))
    outcome = trial.try_pod(using(pod, "c"))
    trial.state.cluster.promise(outcome.volumes, outcome.node)
    assert words(trial.try_pod(using(pod, "d", name="q"))) == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )
    trial.state.cluster.take_back(outcome.volumes)
    assert trial.try_pod(using(pod, "d", name="q")).node == "a"


# v1.36.4 pkg/scheduler/framework/plugins/volumebinding/binder.go (checkVolumeProvisions)
def test_volumes_that_will_be_made(trial: Any, pod: Maker):
    give(trial, claim("c", class_name="made"))
    outcome = trial.try_pod(using(pod, "c"))
    assert [each["metadata"]["name"] for each in outcome.volumes.provisions] == ["c"]
    allowed = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["x"]}]}]
    trial.state.cluster.storage_classes["made"] = storage_class("made", "example.com/csi", allowedTopologies=allowed)
    assert trial.feasible(using(pod, "c")) == ["a"]
    give(trial, claim("c", class_name="made", annotations={"volume.kubernetes.io/selected-node": "b"}))
    assert isinstance(trial.try_pod(using(pod, "c")), Unplaced)


# v1.36.4 pkg/scheduler/framework/plugins/volumebinding/binder.go (hasEnoughCapacity)
def test_storage_that_is_counted(trial: Any, pod: Maker):
    give(trial, claim("c", class_name="made", size="10Gi"))
    trial.state.cluster.csi_drivers["example.com/csi"] = {"spec": {"storageCapacity": True}}
    assert words(trial.try_pod(using(pod, "c"))) == "0/2 nodes are available: 2 node(s) did not have enough free storage."
    place = {"storageClassName": "made", "capacity": "10Gi", "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "b"}}}
    trial.state.cluster.csi_capacities["default"] = {"place": place}
    assert trial.try_pod(using(pod, "c")).node == "b"


# v1.36.4 pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go:51
def test_a_claim_for_one_pod_only(trial: Any, pod: Maker, on: Maker):
    once = claim("c", "v")
    once["spec"]["accessModes"] = ["ReadWriteOncePod"]
    give(trial, once, volume("v"))
    trial.running(on(using(pod, "c", name="first"), "a"))
    assert words(trial.try_pod(using(pod, "c"))) == (
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod."
    )


def test_a_disk_is_not_shared_on_a_node(trial: Any, pod: Maker, on: Maker):
    disk = {"name": "d", "awsElasticBlockStore": {"volumeID": "1"}}
    trial.running(on(pod("first", volumes=[disk]), "a"))
    assert trial.feasible(pod("p", volumes=[disk])) == ["b"]


# v1.36.4 pkg/scheduler/framework/plugins/volumezone/volume_zone.go:55
def test_the_zone_of_a_volume(trial: Any, pod: Maker, node: Maker):
    trial.nodes(node("c", labels={"topology.kubernetes.io/zone": "y"}))
    give(trial, claim("c", "v"), volume("v", labels={"topology.kubernetes.io/zone": "x__z"}))
    assert trial.feasible(using(pod, "c")) == ["a", "b"]


# v1.36.4 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (ErrReasonMaxVolumeCountExceeded)
def test_a_node_takes_so_many_volumes_of_a_driver(trial: Any, pod: Maker, on: Maker):
    csi = {"driver": "example.com/csi"}
    give(trial, claim("c", "v"), volume("v", csi={**csi, "volumeHandle": "1"}))
    give(trial, claim("d", "w"), volume("w", csi={**csi, "volumeHandle": "2"}))
    for name in ("a", "b"):
        drivers = [{"name": "example.com/csi", "allocatable": {"count": 1}}]
        trial.state.cluster.csi_nodes[name] = {"spec": {"drivers": drivers}}
    trial.running(on(using(pod, "c", name="1"), "a"), on(using(pod, "c", name="2"), "b"))
    assert trial.feasible(using(pod, "c")) == ["a", "b"]
    assert words(trial.try_pod(using(pod, "d"))) == "0/2 nodes are available: 2 node(s) exceed max volume count."
