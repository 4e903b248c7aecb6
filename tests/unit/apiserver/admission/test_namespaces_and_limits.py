"""Namespaces that come and go, and what LimitRange allows. The refusals were compared with a v1.36.4 server."""

import pytest

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "t"}}
LIMITS = [
    {
        "type": "Container",
        "max": {"cpu": "2"},
        "min": {"cpu": "100m"},
        "default": {"cpu": "500m", "memory": "1Gi"},
        "defaultRequest": {"cpu": "200m", "memory": "512Mi"},
        "maxLimitRequestRatio": {"cpu": "4"},
    },
    {"type": "Pod", "max": {"cpu": "3"}},
    {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}, "max": {"storage": "3Gi"}},
]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_never_go(serve, name):
    server = serve()
    await server.namespace(name)
    status = await server.delete("namespaces", name)
    assert (status["code"], status["message"]) == (403, f'namespaces "{name}" is forbidden: this namespace may not be deleted')


async def test_nothing_is_written_where_there_is_no_namespace(serve):
    status = await serve().create("configmaps", CONFIG_MAP)
    assert (status["code"], status["message"]) == (404, 'namespaces "t" not found')


# staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go:170
async def test_nothing_new_in_a_namespace_that_goes_away_but_what_is_there_may_change(serve):
    server = serve()
    await server.namespace("t")
    await server.create("configmaps", CONFIG_MAP)
    await server.delete("namespaces", "t")
    status = await server.create("configmaps", {**CONFIG_MAP, "metadata": {"name": "d", "namespace": "t"}})
    told = "unable to create new content in namespace t because it is being terminated"
    assert status["message"] == f'configmaps "d" is forbidden: {told}'
    cause = {
        "reason": "NamespaceTerminating",
        "message": "namespace t is being terminated",
        "field": "metadata.namespace",
    }
    assert status["details"]["causes"] == [cause]
    assert (await server.patch("configmaps", "c", {"data": {"a": "b"}}, "t"))["data"] == {"a": "b"}
    assert (await server.delete("configmaps", "c", "t"))["status"] == "Success"


async def test_a_namespace_appears_when_it_is_needed_if_that_is_wanted(serve):
    server = serve(enabled=("NamespaceAutoProvision", "NamespaceExists"))
    status = await server.create("configmaps", CONFIG_MAP, params={"dryRun": "All"})
    assert status["message"] == 'namespaces "t" not found'
    assert (await server.create("configmaps", CONFIG_MAP))["metadata"]["namespace"] == "t"
    namespace = await server.get("namespaces", "t")
    assert (namespace["spec"], namespace["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "t"}


@pytest.fixture
def limited(serve):
    async def make():
        server = serve()
        await server.namespace("t")
        limits = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l", "namespace": "t"},
            "spec": {"limits": LIMITS},
        }
        await server.create("limitranges", limits)
        return server

    return make


async def test_containers_get_the_namespaces_defaults(limited, make_pod):
    server = await limited()
    pod = await server.create("pods", make_pod())
    wanted = {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "1Gi"}}
    assert pod["spec"]["containers"][0]["resources"] == wanted
    told = "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
    assert pod["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": told}


def resources(requests=None, limits=None):
    return {"resources": {"requests": {"cpu": requests} if requests else {}, "limits": {"cpu": limits} if limits else {}}}


@pytest.mark.parametrize(
    ("container", "why"),
    [
        (resources("1", "3"), "maximum cpu usage per Container is 2, but limit is 3"),
        (
            resources("50m"),
            "[minimum cpu usage per Container is 100m, but request is 50m, cpu max limit to request ratio per Container is 4, "
            "but provided ratio is 10.000000]",
        ),
        (resources("100m", "1"), "cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000"),
    ],
)
async def test_containers_stay_within_bounds(limited, make_pod, container, why):
    server = await limited()
    status = await server.create("pods", make_pod(container=container))
    assert (status["code"], status["message"]) == (403, f'pods "p" is forbidden: {why}')


async def test_pods_and_claims_stay_within_bounds(limited, make_pod):
    server = await limited()
    two = [{"name": name, "image": "x", **resources("1", "2")} for name in "ab"]
    status = await server.create("pods", make_pod(containers=two))
    assert status["message"] == 'pods "p" is forbidden: maximum cpu usage per Pod is 3, but limit is 4'
    for size, why in (
        ("1Gi", "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"),
        ("4Gi", "maximum storage usage per PersistentVolumeClaim is 3Gi, but request is 4Gi"),
    ):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v", "namespace": "t"}}
        claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        status = await server.create("persistentvolumeclaims", claim)
        assert status["message"] == f'persistentvolumeclaims "v" is forbidden: {why}'
