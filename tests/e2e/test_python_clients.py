"""The Python clients that people use, unchanged, against a running cluster: what they do most."""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# The clients leave sockets to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <(ssl|socket):pytest.PytestUnraisableExceptionWarning"),
]

DATA = {"color": "blue"}


def configmap(name: str, **labels: str) -> dict:
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(DATA)}


def deployment(name: str) -> dict:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Here, and not in somebody else's test."""
    yield
    gc.collect()


@contextmanager
def deprecations_of(module: str) -> Iterator[None]:
    """A client may use what its own dependencies have deprecated: not our business."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=module)
        yield


class TestKubernetes:
    @pytest.fixture
    def client(self, cluster):
        with deprecations_of("kubernetes"):
            from kubernetes import client, config

            with config.new_client_from_config(str(cluster.kubeconfig)) as api:
                yield client, api

    def test_objects(self, client, namespace):
        kinds, api = client
        core = kinds.CoreV1Api(api)
        core.create_namespaced_config_map(namespace, configmap("one", tier="front"))
        core.create_namespaced_config_map(namespace, configmap("two", tier="back"))
        read = core.read_namespaced_config_map("one", namespace)
        assert read.data == DATA
        found = core.list_namespaced_config_map(namespace, label_selector="tier=back").items
        assert [each.metadata.name for each in found] == ["two"]
        found = core.list_namespaced_config_map(namespace, field_selector="metadata.name=one").items
        assert [each.metadata.name for each in found] == ["one"]
        read.data["color"] = "red"
        core.replace_namespaced_config_map("one", namespace, read)
        with pytest.raises(kinds.ApiException) as stale:
            core.replace_namespaced_config_map("one", namespace, read)
        assert stale.value.status == 409
        core.delete_namespaced_config_map("one", namespace)
        with pytest.raises(kinds.ApiException) as gone:
            core.read_namespaced_config_map("one", namespace)
        assert gone.value.status == 404
        core.delete_collection_namespaced_config_map(namespace)
        assert core.list_namespaced_config_map(namespace).items == []

    def test_patches_and_status(self, client, namespace):
        kinds, api = client
        apps = kinds.AppsV1Api(api)
        apps.create_namespaced_deployment(namespace, deployment("web"))
        strategic = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
        patched = apps.patch_namespaced_deployment("web", namespace, strategic)
        assert [each.image for each in patched.spec.template.spec.containers] == ["web:2"]
        operations = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
        assert apps.patch_namespaced_deployment("web", namespace, operations).spec.replicas == 4
        status = {"status": {"replicas": 4, "observedGeneration": 1}}
        assert apps.patch_namespaced_deployment_status("web", namespace, status).status.replicas == 4
        scale = apps.read_namespaced_deployment_scale("web", namespace)
        scale.spec.replicas = 2
        assert apps.replace_namespaced_deployment_scale("web", namespace, scale).spec.replicas == 2

    def test_watch(self, client, namespace):
        from kubernetes import watch

        kinds, api = client
        core = kinds.CoreV1Api(api)
        since = core.list_namespaced_config_map(namespace).metadata.resource_version
        core.create_namespaced_config_map(namespace, configmap("one"))
        core.patch_namespaced_config_map("one", namespace, {"data": {"color": "red"}})
        core.delete_namespaced_config_map("one", namespace)
        stream = watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version=since, timeout_seconds=60)
        seen = [(event["type"], event["object"].data["color"]) for _, event in zip(range(3), stream, strict=False)]
        assert seen == [("ADDED", "blue"), ("MODIFIED", "red"), ("DELETED", "red")]

    def test_dynamic_client_and_server_side_apply(self, client, namespace):
        from kubernetes.dynamic import DynamicClient

        _, api = client
        with deprecations_of("kubernetes"):
            maps = DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
        applied = maps.server_side_apply(configmap("one"), namespace=namespace, field_manager="tests")
        assert applied.data.color == "blue"
        assert [each.manager for each in applied.metadata.managedFields] == ["tests"]


@pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning")
class TestKr8s:
    def test_objects(self, cluster, namespace):
        with deprecations_of("kr8s"):
            import kr8s
            from kr8s.objects import ConfigMap, Deployment

            api = kr8s.api(kubeconfig=str(cluster.kubeconfig), namespace=namespace)
            one = ConfigMap(configmap("one", tier="front"), namespace=namespace, api=api)
            one.create()
            assert one.exists()
            found = list(api.get("configmaps", namespace=namespace, label_selector={"tier": "front"}))
            assert [each.name for each in found] == ["one"]
            one.patch({"data": {"color": "red"}})
            one.refresh()
            assert one.data["color"] == "red"
            one.label(seen="yes")
            assert ConfigMap.get("one", namespace=namespace, api=api).labels["seen"] == "yes"
            one.delete()
            assert not one.exists()
            web = Deployment(deployment("web"), namespace=namespace, api=api)
            web.create()
            web.patch({"status": {"replicas": 1}}, subresource="status")
            web.refresh()
            assert web.status["replicas"] == 1
            assert api.version()["major"] == "1"


class TestLightkube:
    @pytest.fixture
    def client(self, cluster, namespace):
        with deprecations_of("lightkube"):
            from lightkube import Client, KubeConfig

            config = KubeConfig.from_file(str(cluster.kubeconfig))
            client = Client(config=config, namespace=namespace, field_manager="tests")
            yield client

    def test_objects(self, client):
        from lightkube import ApiError
        from lightkube.models.meta_v1 import ObjectMeta
        from lightkube.resources.core_v1 import ConfigMap
        from lightkube.types import PatchType

        client.create(ConfigMap(metadata=ObjectMeta(name="one", labels={"tier": "front"}), data=dict(DATA)))
        assert [each.metadata.name for each in client.list(ConfigMap, labels={"tier": "front"})] == ["one"]
        assert client.patch(ConfigMap, "one", {"data": {"color": "red"}}).data == {"color": "red"}
        merged = client.patch(ConfigMap, "one", {"data": {"color": None}}, patch_type=PatchType.MERGE)
        assert not merged.data
        read = client.get(ConfigMap, "one")
        read.data = dict(DATA)
        assert client.replace(read).data == DATA
        client.delete(ConfigMap, "one")
        with pytest.raises(ApiError, match='configmaps "one" not found'):
            client.get(ConfigMap, "one")

    def test_apply_and_watch(self, client):
        from lightkube.models.meta_v1 import ObjectMeta
        from lightkube.resources.core_v1 import ConfigMap

        wanted = ConfigMap(metadata=ObjectMeta(name="one"), data=dict(DATA))
        # Apply wants to know what is applied.
        wanted.apiVersion, wanted.kind = "v1", "ConfigMap"
        listing = client.list(ConfigMap)
        assert list(listing) == []
        since = listing.resourceVersion
        assert client.apply(wanted).data == DATA
        wanted.data = {"color": "red"}
        assert client.apply(wanted).data == {"color": "red"}
        client.delete(ConfigMap, "one")
        watching = client.watch(ConfigMap, resource_version=since)
        seen = [kind for _, (kind, _) in zip(range(3), watching, strict=False)]
        assert seen == ["ADDED", "MODIFIED", "DELETED"]

    def test_status(self, client):
        from lightkube.codecs import from_dict
        from lightkube.resources.apps_v1 import Deployment

        client.create(from_dict(deployment("web")))
        client.patch(Deployment.Status, "web", {"status": {"replicas": 1}})
        assert client.get(Deployment, "web").status.replicas == 1


class TestKubernetesAsyncio:
    def test_objects_and_watch(self, cluster, namespace):
        with deprecations_of("kubernetes_asyncio"):
            from kubernetes_asyncio import client, config, watch

            async def work() -> list[str]:
                async with await config.new_client_from_config(str(cluster.kubeconfig)) as api:
                    core = client.CoreV1Api(api)
                    listed = await core.list_namespaced_config_map(namespace)
                    await core.create_namespaced_config_map(namespace, configmap("one", tier="front"))
                    found = await core.list_namespaced_config_map(namespace, label_selector="tier=front")
                    assert [each.metadata.name for each in found.items] == ["one"]
                    patched = await core.patch_namespaced_config_map("one", namespace, {"data": {"color": "red"}})
                    assert patched.data == {"color": "red"}
                    await core.delete_namespaced_config_map("one", namespace)
                    seen = []
                    async with watch.Watch() as watching:
                        stream = watching.stream(
                            core.list_namespaced_config_map,
                            namespace,
                            resource_version=listed.metadata.resource_version,
                            timeout_seconds=60,
                        )
                        async for event in stream:
                            seen.append(event["type"])
                            if len(seen) == 3:
                                return seen
                    return seen

            assert asyncio.run(work()) == ["ADDED", "MODIFIED", "DELETED"]
