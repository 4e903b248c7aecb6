"""Devices that are more than things of which each is one claim's: shared ones, parts of others, such that have to be made ready
first, and such that stand behind the resources of a pod."""

from bench.scheduler.scenes.chance import Chance
from bench.scheduler.scenes.nodes import ZONE, name
from tiphys.machinery.tree import Obj

BEHIND = {"gpu": "example.com/gpu", "large": "example.com/large", "any": "example.com/large", "nic": "nic.example.com/port"}
"""Resources that classes stand behind; of two with the same the one with the lower name does."""
RESOURCES = ("example.com/gpu", "example.com/gpu", "example.com/large", "deviceclass.resource.kubernetes.io/nic")
READY, BROKEN = ("example.com/ready", "example.com/attached"), ("example.com/broken",)
_POLICIES: tuple[Obj, ...] = (
    {"default": "5Gi", "validRange": {"min": "1Gi", "step": "2Gi", "max": "9Gi"}},
    {"default": "2Gi", "validRange": {"min": "2Gi"}},
    {"default": "4Gi", "validValues": ["1Gi", "4Gi", "8Gi"]},
    {"default": "3Gi"},
)


def make_room(chance: Chance, nodes: list[Obj]) -> None:
    """Nodes on which mostly devices are what is scarce."""
    for each in nodes:
        if not chance.one_in(8):
            each["status"]["allocatable"].update({"cpu": "32", "memory": "64Gi", "pods": "110", "ephemeral-storage": "20Gi"})
            each["spec"].pop("unschedulable", None)


def set_up(chance: Chance, classes: list[Obj]) -> None:
    for each in classes:
        if chance.one_in(3):
            each["spec"]["config"] = [_settings(each["metadata"]["name"])]


def _settings(mode: str) -> Obj:
    return {"opaque": {"driver": "gpu.example.com", "parameters": {"mode": mode}}}


def refine(chance: Chance, devices: Obj) -> None:
    """What a claim asks for: in a certain way, more of it, and constraints only between some."""
    requests = devices["requests"]
    names = [each["name"] for each in requests]
    for request in requests:
        names += [f"{request['name']}/{each['name']}" for each in request.get("firstAvailable", ())]
    if chance.one_in(3):
        config = _settings("claim")
        if not chance.one_in(3):
            config["requests"] = chance.some(names)
        devices["config"] = [config]
    for constraint in devices.get("constraints", ()):
        if chance.one_in(2):
            constraint["requests"] = chance.some(names)
    exactly = requests[0].get("exactly")
    if exactly is not None and exactly.get("allocationMode") != "All" and chance.one_in(5):
        exactly["count"] = 3


def share(chance: Chance, device: Obj) -> None:
    """Several claims may have it, as long as there is enough of it; some have nothing that could run out."""
    device["allowMultipleAllocations"] = True
    if chance.one_in(6):
        del device["capacity"]
        return
    memory: Obj = {"value": "10Gi"}
    if not chance.one_in(4):
        memory["requestPolicy"] = chance.pick(_POLICIES)
    device["capacity"]["memory"] = memory
    if chance.one_in(3):
        device["capacity"]["example.com/lanes"] = {"value": "4", "requestPolicy": {"default": "1"}}


def portion(chance: Chance, wanted: Obj) -> None:
    asked = {"memory": chance.pick(("500Mi", "1Gi", "2Gi", "4Gi", "8Gi", "12Gi"))}
    if chance.one_in(3):
        asked = {"example.com/lanes": chance.pick(("1", "2", "3"))}
    elif chance.one_in(6):
        asked["nothing"] = "1"
    wanted["capacity"] = {"requests": asked}


def result(device: Obj, request: Obj) -> Obj:
    """What is told of a share in it."""
    found: Obj = {}
    if device.get("allowMultipleAllocations"):
        found["shareID"] = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
        amounts = {
            key: (each.get("requestPolicy") or {}).get("default", each["value"])
            for key, each in (device.get("capacity") or {}).items()
        }
        if amounts:
            found["consumedCapacity"] = amounts
    for key in ("bindingConditions", "bindingFailureConditions"):
        if device.get(key):
            found[key] = device[key]
    return {**found, **({"tolerations": request["tolerations"]} if request.get("tolerations") else {})}


def counters(chance: Chance, spec: Obj) -> list[Obj]:
    """A pool whose devices draw on the same memory, in two slices or three."""
    pool, driver = spec["pool"], spec["driver"]
    sets = [{"name": "board", "counters": {"memory": {"value": chance.pick(("40Gi", "80Gi"))}, "parts": {"value": "7"}}}]
    if chance.one_in(3):
        sets.append({"name": "switch", "counters": {"ports": {"value": "2"}}})
    for at, device in enumerate(spec["devices"]):
        amounts = {"memory": {"value": chance.pick(("10Gi", "20Gi", "40Gi"))}}
        if chance.one_in(2):
            amounts["parts"] = {"value": chance.pick(("1", "3", "4"))}
        device["consumesCounters"] = [{"counterSet": "board", "counters": amounts}]
        if len(sets) > 1 and at:
            device["consumesCounters"].append({"counterSet": "switch", "counters": {"ports": {"value": "1"}}})
    if chance.one_in(15):
        spec["devices"][0]["consumesCounters"][0]["counterSet"] = "nowhere"
    place = {key: spec[key] for key in ("nodeName", "nodeSelector", "allNodes") if key in spec}
    pool["resourceSliceCount"] += 1
    shared = {"driver": driver, "pool": pool, "sharedCounters": sets, **place}
    if chance.one_in(12):
        pool["generation"] = 2
        shared["pool"] = {**pool, "generation": chance.pick((1, 3))}
    return [shared, spec]


def spread(chance: Chance, spec: Obj, nodes: int) -> None:
    """Each device says for itself where it is."""
    for key in ("nodeName", "nodeSelector", "allNodes"):
        spec.pop(key, None)
    spec["perDeviceNodeSelection"] = True
    for device in spec["devices"]:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}
        places: tuple[Obj, ...] = (
            {"nodeName": name(chance.below(nodes))},
            {"nodeSelector": {"nodeSelectorTerms": [term]}},
            {"allNodes": True},
        )
        device.update(chance.pick(places))


def condition(chance: Chance, device: Obj) -> None:
    device["bindingConditions"] = list(READY[: chance.between(1, 2)])
    device["bindingFailureConditions"] = list(BROKEN)
    if chance.one_in(3):
        device["bindsToNode"] = True


def told(chance: Chance, claim: Obj) -> None:
    """What the driver says of devices that are being made ready."""
    allocation = claim["status"]["allocation"]
    allocation["allocationTimestamp"] = chance.pick(("2026-01-01T00:00:00Z", "2200-01-01T00:00:00Z"))
    result = allocation["devices"]["results"][0]
    if not result.get("bindingConditions") or chance.one_in(4):
        return
    kinds = chance.pick((READY, READY[:1], (*READY, *BROKEN), BROKEN))
    conditions = [
        {
            "type": each,
            "status": "False" if chance.one_in(5) else "True",
            "reason": "Told",
            "message": "so it is",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for each in kinds
    ]
    device = {key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result}
    claim["status"]["devices"] = [{**device, "conditions": conditions}]


def ask_for_resources(chance: Chance, pod: Obj) -> None:
    if chance.one_in(3):
        return
    containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    for each in chance.some(containers):
        resource, count = chance.pick(RESOURCES), chance.pick(("1", "1", "2", "3"))
        own = each["resources"]
        own["requests"] = {**own["requests"], resource: count}
        own["limits"] = {**own.get("limits", {}), resource: count}


def starters(chance: Chance, pod: Obj) -> None:
    """Containers that are done before others begin may have the same devices."""
    if not chance.one_in(2) or pod["spec"].get("initContainers"):
        return
    made = []
    for at in range(chance.between(1, 3)):
        one: Obj = {"name": f"i{at}", "image": "one:1", "resources": {"requests": {"cpu": "100m"}}}
        if chance.one_in(3):
            one["restartPolicy"] = "Always"
        made.append(one)
    pod["spec"]["initContainers"] = made


def left_over(pod: Obj) -> Obj:
    """A claim of an attempt to schedule the pod that came to nothing."""
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
    metadata = {
        "name": f"{meta['name']}-extended-resources-abcde",
        "namespace": meta["namespace"],
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
        "finalizers": ["resource.kubernetes.io/delete-protection"],
    }
    request = {"name": "container-0-request-0", "exactly": {"deviceClassName": "gpu"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": [request]}},
    }
