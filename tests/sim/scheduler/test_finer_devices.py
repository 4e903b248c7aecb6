"""Devices that are shared, that have to be made ready first, or that stand behind resources: what is written of them, and what
is taken back. What is decided: tests/contract/scheduler."""

import pytest
from tests.sim.scheduler.scene import Scene, node, play, pod
from tests.sim.scheduler.test_devices import CLASS, claim, gpus, user

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.machinery.tree import Obj

READY, BROKEN = "example.com/ready", "example.com/broken"
BEHIND: Obj = {**CLASS, "spec": {**CLASS["spec"], "extendedResourceName": "example.com/gpu"}}


def shared(on: str, memory: str) -> Obj:
    offered = gpus(on, 1)
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    device = offered["spec"]["devices"][0]
    device |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": memory, "requestPolicy": policy}}}
    return offered


def slow(on: str) -> Obj:
    offered = gpus(on, 1)
    offered["spec"]["devices"][0] |= {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
    return offered


def resource_user(name: str, count: str = "1") -> Obj:
    made = pod(name)
    asked = {"cpu": "1", "example.com/gpu": count}
    made["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": {"example.com/gpu": count}}
    return made


def results(of: Obj) -> list[Obj]:
    found: list[Obj] = of["status"]["allocation"]["devices"]["results"]
    return found


# v1.36.4 staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (allocateDevice)
def test_claims_have_shares_in_a_device_until_it_is_used_up():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        await cluster.create(NODES, node("a"))
        await cluster.create(RESOURCESLICES, shared("a", "4Gi"))
        for name, memory in (("one", "1500Mi"), ("two", "2Gi"), ("three", "1Gi")):
            wanted = claim(name)
            wanted["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": memory}}
            await cluster.create(RESOURCECLAIMS, wanted)
        await cluster.create(PODS, user("p", "one"))
        await cluster.create(PODS, user("q", "two"))
        await scene.bound("p", "q")
        await cluster.create(PODS, user("r", "three"))
        await cluster.settle(20)
        assert await scene.node_of("r") == ""
        given = [results(await cluster.get(RESOURCECLAIMS, f"default/{name}"))[0] for name in ("one", "two")]
        assert [each["consumedCapacity"] for each in given] == [{"memory": "2Gi"}, {"memory": "2Gi"}]
        assert len({each["shareID"] for each in given}) == 2
        # What one gives back another may have.
        first = await cluster.get(RESOURCECLAIMS, "default/one")
        freed = {"status": {"allocation": None, "reservedFor": None}}
        assert first["status"]["allocation"]["allocationTimestamp"]
        await cluster.delete(PODS, "default/p")
        await cluster.patch(RESOURCECLAIMS, "default/one", freed, "status")
        await scene.bound("r")

    play(scenario)


# v1.36.4 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreBind, isPodReadyForBinding)
def test_a_pod_is_bound_once_its_device_is_ready():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        await cluster.create(NODES, node("a"))
        await cluster.create(RESOURCESLICES, slow("a"))
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        await cluster.create(PODS, user("p", "mine"))
        await cluster.settle(30)
        assert await scene.node_of("p") == ""
        assert "waiting for binding conditions for device on node a" in await scene.told("p")
        result = results(await cluster.get(RESOURCECLAIMS, "default/mine"))[0]
        assert (result["bindingConditions"], result["bindingFailureConditions"]) == ([READY], [BROKEN])
        await tell(scene, "mine", READY)
        await scene.bound("p")

    play(scenario)


async def tell(scene: Scene, name: str, condition: str) -> None:
    """As the driver does it."""
    found = await scene.cluster.get(RESOURCECLAIMS, f"default/{name}")
    told = {"type": condition, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    device = {key: results(found)[0][key] for key in ("driver", "pool", "device")}
    change = {"status": {"devices": [{**device, "conditions": [told]}]}}
    await scene.cluster.patch(RESOURCECLAIMS, f"default/{name}", change, "status")


def test_another_device_is_found_where_one_will_not_become_ready():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        for name in ("a", "b"):
            await cluster.create(NODES, node(name))
        await cluster.create(RESOURCESLICES, slow("a"))
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        await cluster.create(PODS, user("p", "mine"))
        await cluster.settle(30)
        await tell(scene, "mine", BROKEN)
        await cluster.create(RESOURCESLICES, gpus("b", 1))
        await cluster.patch(NODES, "a", {"spec": {"unschedulable": True}})
        await cluster.until(lambda: failed(scene))
        # It may come back to the one that is broken, until its driver withdraws it.
        await cluster.delete(RESOURCESLICES, "a")
        await scene.bound("p")
        assert await scene.node_of("p") == "b"
        mine = await cluster.get(RESOURCECLAIMS, "default/mine")
        assert "devices" not in mine["status"]
        assert [each["name"] for each in mine["status"]["reservedFor"]] == ["p"]

    async def failed(scene: Scene) -> bool:
        told = 'running PreBind plugin "DynamicResources": device binding failed: claim=mine, reason=R, message="m"'
        return told in await scene.told("p")

    play(scenario)


def test_what_takes_too_long_is_given_up():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        await cluster.create(NODES, node("a"))
        await cluster.create(RESOURCESLICES, slow("a"))
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        await cluster.create(PODS, user("p", "mine"))
        await cluster.settle(590)
        assert not any("timeout" in each for each in await scene.told("p"))
        await cluster.settle(30)
        assert any("device binding timeout" in each for each in await scene.told("p"))

    play(scenario)


# v1.36.4 pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go
def test_a_device_stands_behind_a_resource():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(NODES, node("a"))
        await cluster.create(RESOURCESLICES, gpus("a", 1))
        await cluster.create(PODS, resource_user("p"))
        await cluster.settle(20)
        assert (await scene.told("p"))[-1].startswith("0/1 nodes are available: 1 Insufficient example.com/gpu.")
        await cluster.create(DEVICECLASSES, BEHIND)
        await scene.bound("p")
        told = (await cluster.get(PODS, "default/p"))["status"]["extendedResourceClaimStatus"]
        mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-1"}
        assert told["requestMappings"] == [mapping]
        made = await cluster.get(RESOURCECLAIMS, f"default/{told['resourceClaimName']}")
        assert made["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
        assert made["metadata"]["name"].startswith("p-extended-resources-")
        assert [each["name"] for each in made["metadata"]["ownerReferences"]] == ["p"]
        assert results(made)[0]["request"] == "container-0-request-1"
        assert [each["name"] for each in made["status"]["reservedFor"]] == ["p"]
        # There is only one.
        await cluster.create(PODS, resource_user("q"))
        await cluster.settle(20)
        assert (await scene.told("q"))[-1].startswith("0/1 nodes are available: 1 cannot allocate all claims.")

    play(scenario)


@pytest.mark.differs(
    "makes a claim without requests for a pod with claims of its own that asks for a resource that a class stands behind, but "
    "that its node has from a device plugin, and then cannot bind the pod.",
    "no claim is made where no devices are needed.",
)
def test_where_a_device_plugin_has_the_resource_no_claim_is_made():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, BEHIND)
        there = node("a")
        for amounts in there["status"].values():
            amounts["example.com/gpu"] = "2"
        await cluster.create(NODES, there)
        await cluster.create(RESOURCESLICES, gpus("a", 1))
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        wanted = resource_user("p")
        wanted["spec"]["resourceClaims"] = [{"name": "mine", "resourceClaimName": "mine"}]
        await cluster.create(PODS, wanted)
        await scene.bound("p")
        assert [each["metadata"]["name"] for each in await cluster.list(RESOURCECLAIMS)] == ["mine"]
        assert "extendedResourceClaimStatus" not in (await cluster.get(PODS, "default/p"))["status"]

    play(scenario)


@pytest.mark.differs(
    "lets a pod wait for some event, once it has removed a claim for resources that was left over from an attempt before.",
    "the pod is tried again at once.",
)
def test_a_claim_of_an_attempt_that_came_to_nothing_goes():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, BEHIND)
        waiting = await cluster.create(PODS, resource_user("p"))
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": waiting["metadata"]["uid"], "controller": True}
        left = claim("left")
        left["metadata"] |= {
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [owner],
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        }
        await cluster.create(RESOURCECLAIMS, left)
        await cluster.create(RESOURCESLICES, gpus("a", 1))
        await cluster.create(NODES, node("a"))
        await scene.bound("p")
        assert any("deletion of ResourceClaim completed" in each for each in await scene.told("p"))
        (made,) = await cluster.list(RESOURCECLAIMS)
        assert made["metadata"]["name"].startswith("p-extended-resources-")

    play(scenario)


def test_devices_are_free_again_once_their_claim_is_gone():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        await cluster.create(NODES, node("a"))
        await cluster.create(RESOURCESLICES, gpus("a", 1))
        for name in ("one", "two"):
            await cluster.create(RESOURCECLAIMS, claim(name))
            await cluster.create(PODS, user(f"pod-{name}", name))
            await scene.bound(f"pod-{name}")
            await cluster.delete(PODS, f"default/pod-{name}")
            status = {"status": {"allocation": None, "reservedFor": None}}
            await cluster.patch(RESOURCECLAIMS, f"default/{name}", status, "status")
            await cluster.patch(RESOURCECLAIMS, f"default/{name}", {"metadata": {"finalizers": None}})
            await cluster.delete(RESOURCECLAIMS, f"default/{name}")

    play(scenario)
