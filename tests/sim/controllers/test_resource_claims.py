"""Claims for devices: made, told, reserved, given back. v1.36.4 pkg/controller/resourceclaim/controller.go."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate
from tests.kubelet import run_pod

from tiphys.api.core.events import EVENTS
from tiphys.api.core.pods import PODS
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceclaimtemplates import RESOURCECLAIMTEMPLATES
from tiphys.controllers.registry import Settings, controllers
from tiphys.controllers.resource_claim.claims import FINALIZER
from tiphys.controllers.resource_claim.pods import base_name
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

SPEC = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpus"}}]}}
ALLOCATED = {"devices": {"results": [{"request": "gpu", "driver": "d", "pool": "p", "device": "0"}]}}


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def template() -> Obj:
    metadata = {"name": "t", "namespace": "default"}
    spec = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": SPEC}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def claim(name: str) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": SPEC}


def pod(*claims: Obj, name: str = "p", **spec: Any) -> Obj:
    whole = {"containers": [{"name": "c", "image": "x"}], "resourceClaims": list(claims), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": whole}


FROM_TEMPLATE = {"name": "mine", "resourceClaimTemplateName": "t"}
SHARED = {"name": "ours", "resourceClaimName": "shared"}


async def allocate(cluster: Cluster, name: str, *reserved: Obj) -> None:
    """As the scheduler does it."""
    found = await cluster.get(RESOURCECLAIMS, f"default/{name}")
    finalizers = [*meta.finalizers(found), FINALIZER]
    await cluster.patch(RESOURCECLAIMS, f"default/{name}", {"metadata": {"finalizers": finalizers}})
    consumers = [{"resource": "pods", "name": meta.name(each), "uid": meta.uid(each)} for each in reserved]
    status = {"allocation": ALLOCATED, "reservedFor": consumers}
    await cluster.patch(RESOURCECLAIMS, f"default/{name}", {"status": status}, "status")


def test_a_claim_is_made_from_the_template_and_told():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(PODS, pod(FROM_TEMPLATE, SHARED))
        await cluster.settle()
        told = {each["reason"]: each["message"] for each in await cluster.list(EVENTS)}
        assert told["FailedResourceClaimCreation"] == (
            'PodResourceClaim mine: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found'
        )
        await cluster.create(RESOURCECLAIMTEMPLATES, template())
        await cluster.settle()
        (made,) = await cluster.list(RESOURCECLAIMS)
        owner = await cluster.get(PODS, "default/p")
        assert meta.name(made).startswith("p-mine-")
        assert (meta.labels(made), meta.annotations(made)) == (
            {"a": "b"},
            {"c": "d", "resource.kubernetes.io/pod-claim-name": "mine"},
        )
        expected = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": meta.uid(owner), "controller": True}
        assert meta.owners(made) == [expected]
        assert owner["status"]["resourceClaimStatuses"] == [{"name": "mine", "resourceClaimName": meta.name(made)}]
        # One that somebody deletes is made again.
        await cluster.delete(RESOURCECLAIMS, meta.key(made))
        await cluster.settle()
        (again,) = await cluster.list(RESOURCECLAIMS)
        owner = await cluster.get(PODS, "default/p")
        assert owner["status"]["resourceClaimStatuses"] == [{"name": "mine", "resourceClaimName": meta.name(again)}]
        assert meta.uid(again) != meta.uid(made)

    simulate(scenario, every)


def test_devices_are_given_back_when_the_last_pod_has_ended():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(RESOURCECLAIMS, claim("shared"))
        pods = [await cluster.create(PODS, pod(SHARED, name=name)) for name in ("a", "b", "c")]
        gone = {"metadata": {"name": "gone", "uid": "gone"}}
        await allocate(cluster, "shared", *pods, gone)
        await cluster.settle()
        found = await cluster.get(RESOURCECLAIMS, "default/shared")
        assert [each["name"] for each in found["status"]["reservedFor"]] == ["a", "b", "c"]
        await run_pod(cluster, pods[0], phase="Succeeded", ready=False)
        await cluster.delete(PODS, "default/b")
        await cluster.settle()
        found = await cluster.get(RESOURCECLAIMS, "default/shared")
        assert [each["name"] for each in found["status"]["reservedFor"]] == ["c"]
        assert found["status"]["allocation"] == ALLOCATED
        await cluster.delete(PODS, "default/c")
        await cluster.settle()
        found = await cluster.get(RESOURCECLAIMS, "default/shared")
        assert (found["status"], meta.finalizers(found)) == ({}, [])

    simulate(scenario, every)


@pytest.mark.parametrize("ends", ["Succeeded", "Failed"])
def test_a_claim_made_for_a_pod_ends_with_it(ends: str):
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(RESOURCECLAIMTEMPLATES, template())
        made = await cluster.create(PODS, pod(FROM_TEMPLATE))
        await cluster.settle()
        (found,) = await cluster.list(RESOURCECLAIMS)
        await allocate(cluster, meta.name(found), made)
        await cluster.settle()
        assert len(await cluster.list(RESOURCECLAIMS)) == 1
        await run_pod(cluster, made, phase=ends, ready=False)
        await cluster.settle()
        assert await cluster.list(RESOURCECLAIMS) == []

    simulate(scenario, every)


def test_a_pod_that_was_put_onto_a_node_gets_its_reservation_here():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(RESOURCECLAIMS, claim("shared"))
        await allocate(cluster, "shared")
        made = await cluster.create(PODS, pod(SHARED, nodeName="n"))
        await cluster.settle()
        found = await cluster.get(RESOURCECLAIMS, "default/shared")
        assert found["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": meta.uid(made)}]
        # A deleted claim goes once it is not reserved any more.
        await cluster.delete(RESOURCECLAIMS, "default/shared")
        await cluster.settle()
        assert len(await cluster.list(RESOURCECLAIMS)) == 1
        await cluster.delete(PODS, "default/p", gracePeriodSeconds=0)
        await cluster.settle()
        assert await cluster.list(RESOURCECLAIMS) == []

    simulate(scenario, every)


def test_names_leave_something_of_both():
    assert base_name("pod", "claim") == "pod-claim-"
    long = base_name("p" * 60, "c" * 40)
    assert (len(long) <= 58, long.count("p"), long.count("c")) == (True, 33, 22)
