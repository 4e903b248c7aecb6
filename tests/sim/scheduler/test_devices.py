"""Claims for devices, from the slices of a driver to the pod on its node. What is decided: tests/contract/scheduler."""

from tests.sim.scheduler.scene import Scene, node, play, pod

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.machinery.tree import Obj

CLASS: Obj = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}


def gpus(on: str, count: int) -> Obj:
    devices = [{"name": f"gpu-{at}", "attributes": {"size": {"int": 40}}} for at in range(count)]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": on, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": on}, "spec": spec}


def claim(name: str) -> Obj:
    large = {"cel": {"expression": 'device.attributes["gpu.example.com"].size > 20'}}
    exactly = {"deviceClassName": "gpu", "selectors": [large]}
    spec = {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def user(name: str, *claims: str) -> Obj:
    return pod(name, resourceClaims=[{"name": each, "resourceClaimName": each} for each in claims])


# v1.36.4 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (bindClaim)
def test_a_device_is_given_and_told_before_the_pod_is_bound():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        for name in ("a", "b"):
            await cluster.create(NODES, node(name))
        await cluster.create(PODS, user("p", "mine"))
        await cluster.settle(20)
        assert await scene.node_of("p") == ""
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        await cluster.settle(20)
        assert (await scene.told("p"))[-1].startswith("0/2 nodes are available: 2 cannot allocate all claims. ")
        await cluster.create(RESOURCESLICES, gpus("b", 1))
        await scene.bound("p")
        assert await scene.node_of("p") == "b"
        given = await cluster.get(RESOURCECLAIMS, "default/mine")
        assert given["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
        allocation = given["status"]["allocation"]
        assert allocation["devices"]["results"] == [
            {"request": "one", "driver": "gpu.example.com", "pool": "b", "device": "gpu-0"}
        ]
        assert allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["b"]
        assert [each["name"] for each in given["status"]["reservedFor"]] == ["p"]
        # The same claim may have another user; another claim finds no device.
        await cluster.create(RESOURCECLAIMS, claim("theirs"))
        await cluster.create(PODS, user("q", "mine"))
        await cluster.create(PODS, user("r", "theirs"))
        await scene.bound("q")
        await cluster.settle(20)
        assert await scene.node_of("q") == "b"
        assert await scene.node_of("r") == ""

    play(scenario)


def test_devices_go_back_where_their_node_cannot_take_the_pod():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        await cluster.create(DEVICECLASSES, CLASS)
        for name in ("a", "b"):
            await cluster.create(NODES, node(name))
            await cluster.create(RESOURCESLICES, gpus(name, 1))
        await cluster.create(RESOURCECLAIMS, claim("mine"))
        where = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
        results = [{"request": "one", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}]
        allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": where}}
        await cluster.patch(RESOURCECLAIMS, "default/mine", {"status": {"allocation": allocation}}, "status")
        await cluster.patch(NODES, "a", {"spec": {"unschedulable": True}})
        young = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
        listed = [{"name": "m", "resourceClaimName": "mine"}]
        await cluster.create(PODS, pod("p", tolerations=young, resourceClaims=listed))
        await scene.bound("p")
        assert await scene.node_of("p") == "b"

    play(scenario)
