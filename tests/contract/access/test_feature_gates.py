"""What feature gates of the API server change."""

import asyncio

import pytest

from tiphys.machinery.feature_gates import parse, read

HASHED = "/apis/apps/v1"


def gates(text):
    return {"gates": read(parse(text)), "flags": {"v": "2"}}


# v1.36 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go:302
@pytest.mark.parametrize(("who", "status"), [("root", 200), ("alice", 403)])
def test_pages_of_the_server(opened, who, status):
    async def whole():
        async with opened(settings=gates("")) as served:
            for path in ("/flagz", "/statusz"):
                assert (await served.ask(path, who))[0] == status
            _, listed = await served.ask("/", "root")
            assert {"/flagz", "/statusz"} < set(listed["paths"])

    asyncio.run(whole())


def test_pages_that_are_off(opened):
    async def whole():
        async with opened(settings=gates("ComponentFlagz=false,ComponentStatusz=false")) as served:
            for path in ("/flagz", "/statusz"):
                assert await served.ask(path, "root") == (404, "404 page not found\n")
            _, listed = await served.ask("/", "root")
            assert not {"/flagz", "/statusz"} & set(listed["paths"])

    asyncio.run(whole())


@pytest.mark.parametrize(("text", "told"), [("", True), ("StorageVersionHash=false", False)])
def test_hashes_of_stored_versions(opened, text, told):
    async def whole():
        async with opened(settings=gates(text)) as served:
            _, found = await served.ask(HASHED, "root")
            deployments = next(each for each in found["resources"] if each["name"] == "deployments")
            assert ("storageVersionHash" in deployments) is told

    asyncio.run(whole())


@pytest.mark.parametrize(("text", "short"), [("", True), ("APIResponseCompression=false", False)])
def test_long_answers_are_compressed(opened, text, short):
    async def whole():
        async with opened(settings=gates(text)) as served:
            path = "/api/v1/namespaces/default/configmaps"
            large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b" * 200_000}}
            assert (await served.ask(path, "root", "POST", body=large))[0] == 201
            answer = await served.raw(path, "root", headers=[("Accept-Encoding", "gzip")])
            assert (("Content-Encoding", "gzip") in answer.headers) is short

    asyncio.run(whole())


@pytest.mark.parametrize(("text", "labelled"), [("", True), ("PodTopologyLabelsAdmission=false", False)])
def test_labels_of_a_pods_node(opened, text, labelled):
    async def whole():
        async with opened(settings=gates(text)) as served:
            zone = {"topology.kubernetes.io/zone": "here"}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": zone}}
            assert (await served.ask("/api/v1/nodes", "root", "POST", body=node))[0] == 201
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            await served.ask("/api/v1/namespaces/default/serviceaccounts", "root", "POST", body=account)
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
            pods = "/api/v1/namespaces/default/pods"
            assert (await served.ask(pods, "root", "POST", body=pod))[0] == 201
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p"},
                "target": {"kind": "Node", "name": "n"},
            }
            assert (await served.ask(f"{pods}/p/binding", "root", "POST", body=binding))[0] == 201
            _, bound = await served.ask(f"{pods}/p", "root")
            assert (bound["metadata"].get("labels") or {}) == (zone if labelled else {})

    asyncio.run(whole())
