"""Controllers of everything follow kinds that come at run time: garbage, namespaces, quotas.

v1.36.4 test/e2e/apimachinery/garbage_collector.go, "should support cascading deletion of custom resources".
"""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.kind import Kind
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

WIDGETS = Kind(group="example.com", version="v1", kind="Widget", plural="widgets", schema="")


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def definition() -> Obj:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": "widgets.example.com"}, "spec": spec}


def widget(name: str, namespace: str = "default", **metadata: Any) -> Obj:
    named = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": named}


def configmap(name: str, **metadata: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


def owned_by(owner: Obj) -> Obj:
    return {"ownerReferences": [meta.owner_reference(owner)]}


async def gone(cluster: Cluster, kind: Kind, key: str) -> bool:
    try:
        await cluster.get(kind, key)
    except ApiError as refused:
        return refused.code == 404
    return False


def test_garbage_is_collected_on_both_ends():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
        await cluster.settle(5)
        owner = await cluster.create(WIDGETS, widget("owner"))
        await cluster.create(CONFIG_MAPS, configmap("dependent", **owned_by(owner)))
        config = await cluster.create(CONFIG_MAPS, configmap("root"))
        await cluster.create(WIDGETS, widget("leaf", **owned_by(config)))
        await cluster.settle(5)
        assert not await gone(cluster, CONFIG_MAPS, "default/dependent")
        await cluster.delete(WIDGETS, "default/owner", policy="Background")
        await cluster.delete(CONFIG_MAPS, "default/root", policy="Foreground")
        await cluster.settle(60)
        assert await gone(cluster, CONFIG_MAPS, "default/dependent")
        assert await gone(cluster, WIDGETS, "default/leaf")
        assert await gone(cluster, CONFIG_MAPS, "default/root")

    simulate(scenario, every)


def test_a_namespace_takes_its_custom_resources_along():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
        await cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
        await cluster.settle(5)
        await cluster.create(WIDGETS, widget("w", "a"))
        await cluster.create(WIDGETS, widget("other"))
        await cluster.delete(NAMESPACES, "a")
        await cluster.settle(60)
        assert await gone(cluster, NAMESPACES, "a")
        assert [meta.key(each) for each in await cluster.list(WIDGETS, "")] == ["default/other"]

    simulate(scenario, every)


def test_a_quota_gets_back_what_is_deleted():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
        await cluster.settle(5)
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
        await cluster.create(RESOURCE_QUOTAS, {**quota, "spec": {"hard": {"count/widgets.example.com": "1"}}})
        await cluster.settle(5)
        await cluster.create(WIDGETS, widget("a"))
        with pytest.raises(ApiError, match="exceeded quota"):
            await cluster.create(WIDGETS, widget("b"))
        await cluster.delete(WIDGETS, "default/a")
        await cluster.settle(5)
        await cluster.create(WIDGETS, widget("b"))

    simulate(scenario, every)


def test_a_definition_that_goes_takes_along_what_its_objects_own():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        for _ in range(2):
            await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
            await cluster.settle(5)
            owner = await cluster.create(WIDGETS, widget("owner"))
            await cluster.create(CONFIG_MAPS, configmap("dependent", **owned_by(owner)))
            await cluster.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
            await cluster.settle(60)
            assert await gone(cluster, CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
            assert await gone(cluster, CONFIG_MAPS, "default/dependent")

    simulate(scenario, every)
