"""Nodes of a scene."""

from bench.scheduler.scenes.chance import Chance
from tiphys.machinery.tree import Obj

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
IMAGES = ("one:1", "two:2", "three:latest", "four:4", "registry.local:5000/five")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TAINTS = (
    ("dedicated", "red"),
    ("dedicated", "blue"),
    ("gpu", ""),
    ("level", "7"),
    ("node.kubernetes.io/memory-pressure", ""),
    ("node.kubernetes.io/disk-pressure", ""),
    ("node.kubernetes.io/not-ready", ""),
)
_MEBIBYTE = 1024 * 1024


def name(number: int) -> str:
    return f"node-{number}"


def node(chance: Chance, number: int) -> Obj:
    amounts = _amounts(chance)
    spec: Obj = {}
    if chance.has("taints"):
        taints = [_taint(chance, *each) for each in chance.some(TAINTS, 1, 2)]
        spec["taints"] = list({(each["key"], each["effect"]): each for each in taints}.values())
    if chance.has("cordoned"):
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name(number), "uid": f"uid-node-{number}", "labels": _labels(chance, number)},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "images": _images(chance) if chance.often("images") else [],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _labels(chance: Chance, number: int) -> dict[str, str]:
    labels = {HOST: name(number), "disk": chance.pick(("ssd", "hdd", "")), "rank": str(chance.below(8))}
    if chance.one_in(8):
        labels["rank"] = chance.pick(("many", "-3", "007"))
    if not chance.one_in(8):
        labels[ZONE] = chance.pick(("a", "b", "c"))
        labels[REGION] = "north" if labels[ZONE] == "a" else "south"
    elif chance.one_in(2):
        labels[OLD_ZONE] = chance.pick(("a", "b"))
    if chance.one_in(20):
        del labels[HOST]
    return labels


def _amounts(chance: Chance) -> dict[str, str]:
    amounts = {
        "cpu": chance.pick(("1", "2", "4", "3500m", "8")),
        "memory": chance.pick(("1Gi", "2Gi", "4Gi", "5000M", "16Gi")),
        "pods": chance.pick(("3", "5", "10", "110")),
    }
    if not chance.one_in(4):
        amounts["ephemeral-storage"] = chance.pick(("1Gi", "10Gi"))
    if chance.has("extended"):
        amounts["example.com/gpu"] = chance.pick(("0", "1", "2", "4"))
    if chance.has("extended"):
        amounts["hugepages-2Mi"] = chance.pick(("0", "64Mi", "1Gi"))
    return amounts


def _taint(chance: Chance, key: str, value: str) -> Obj:
    taint = {"key": key, "effect": chance.pick(EFFECTS)}
    return {**taint, "value": value} if value else taint


def _images(chance: Chance) -> list[Obj]:
    return [
        {"names": [f"example.com/{each}" if ":5000" not in each else f"{each}:latest"], "sizeBytes": (at + 1) * 150 * _MEBIBYTE}
        for at, each in enumerate(IMAGES)
        if chance.one_in(2)
    ]
