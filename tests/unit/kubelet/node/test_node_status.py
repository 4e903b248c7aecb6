"""The Node object (v1.36.4 pkg/kubelet/nodestatus/setters.go)."""

from dataclasses import replace
from pathlib import Path

from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.configuration import with_defaults
from tiphys.kubelet.cri.runtime import Image
from tiphys.kubelet.node.facts import Facts
from tiphys.kubelet.node.status import Measured, allocatable, node_object, node_status, runtime_version, worth_writing

CONFIG = KubeletConfig(
    "n1", Path("/k"), Path("/l"), ("10.0.0.1",), "/kubepods", pod_cidrs=("10.1.0.0/24",), labels=(("zone", "a"),)
)
FACTS = Facts(4, 8 << 30, 100 << 30, 1000, "m", "s", "b", "6.1", "Debian", "amd64")
WELL = Measured(FACTS, (), [], "containerd://1.6", [Image("i", ("x:1",), (), 5, "")], 10250)


def conditions(measured):
    return {each["type"]: each for each in node_status(CONFIG, measured, {}, 0.0)["conditions"]}


def test_what_is_registered():
    node = node_object(CONFIG, FACTS)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["spec"]["podCIDRs"] == ["10.1.0.0/24"]


def test_a_node_that_is_well():
    status = node_status(CONFIG, WELL, {}, 0.0)
    assert status["capacity"] == {"cpu": "4", "ephemeral-storage": "104857600Ki", "memory": "8388608Ki", "pods": "110"}
    assert status["allocatable"]["memory"] == "8286208Ki"
    assert status["images"] == [{"names": ["x:1"], "sizeBytes": 5}]
    assert {kind: each["status"] for kind, each in conditions(WELL).items()} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }


def test_a_node_that_is_not():
    short = replace(WELL, pressures=("DiskPressure", "MemoryPressure", "PIDPressure"), problems=["a", "b"])
    found = conditions(short)
    assert found["MemoryPressure"]["reason"] == "KubeletHasInsufficientMemory"
    assert found["DiskPressure"]["reason"] == "KubeletHasDiskPressure"
    assert found["PIDPressure"]["status"] == "True"
    assert (found["Ready"]["reason"], found["Ready"]["message"]) == ("KubeletNotReady", "[a, b]")


def test_heartbeats_alone_are_not_worth_writing():
    before = {"status": {**node_status(CONFIG, WELL, {}, 0.0), "features": {}}}
    assert not worth_writing(before, node_status(CONFIG, WELL, before, 10.0))
    assert worth_writing(before, node_status(CONFIG, replace(WELL, images=[]), before, 10.0))


def test_what_is_kept_from_pods():
    # https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/#node-allocatable
    settings = {
        "systemReserved": {"cpu": "200m", "memory": "1Gi"},
        "kubeReserved": {"cpu": "100m", "ephemeral-storage": "1Gi"},
        "evictionHard": {"memory.available": "1Gi", "nodefs.available": "10%"},
    }
    found = allocatable(replace(CONFIG, settings=with_defaults(settings)), FACTS)
    assert (found["cpu"], found["memory"]) == ("3700m", f"{6 << 20}Ki")
    assert found["ephemeral-storage"] == str((100 << 30) - (10 << 30) - (1 << 30))


def test_what_is_registered_with_a_configuration():
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    settings = with_defaults({"registerWithTaints": taints, "providerID": "metal://7"})
    spec = node_object(replace(CONFIG, settings=settings), FACTS)["spec"]
    assert (spec["taints"], spec["providerID"]) == (taints, "metal://7")


def test_no_more_images_than_asked_for():
    images = [Image(f"i{size}", (f"x:{size}",), (), size, "") for size in range(60)]
    for most, told in ((50, 50), (2, 2), (-1, 60)):
        config = replace(CONFIG, settings=with_defaults({"nodeStatusMaxImages": most}))
        assert len(node_status(config, replace(WELL, images=images), {}, 0.0)["images"]) == told


def test_what_others_say_of_the_node_is_not_the_kubelets():
    status = node_status(CONFIG, WELL, {}, 0.0)
    theirs = {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"}
    before = {"status": {**status, "conditions": [*status["conditions"], theirs]}}
    assert not worth_writing(before, node_status(CONFIG, WELL, before, 10.0))


def test_a_runtime_is_told_without_what_a_distribution_added_to_its_version():
    """pkg/kubelet/kuberuntime/kuberuntime_manager.go:388."""
    assert runtime_version("containerd", "1.6.20~ds1") == "containerd://1.6.20"
    assert runtime_version("containerd", "v2.1.0-rc.1+build") == "containerd://2.1.0-rc.1+build"
    assert runtime_version("other", "unknown") == "other://unknown"
