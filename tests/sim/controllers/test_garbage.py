"""Deleting owners: each propagation policy, with real dependents.

https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def config_map(name: str, *owners: Obj, block: bool = True) -> Obj:
    references = [meta.owner_reference(each, controller=False, block_deletion=block) for each in owners]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": references},
    }


async def names(cluster: Cluster) -> list[str]:
    return sorted(meta.name(each) for each in await cluster.list(CONFIG_MAPS) if meta.name(each) != "kube-root-ca.crt")


async def family(cluster: Cluster) -> None:
    """a owns b, b owns c; d is owned by a and x."""
    await cluster.settle()
    a = await cluster.create(CONFIG_MAPS, config_map("a"))
    x = await cluster.create(CONFIG_MAPS, config_map("x"))
    b = await cluster.create(CONFIG_MAPS, config_map("b", a))
    await cluster.create(CONFIG_MAPS, config_map("c", b))
    await cluster.create(CONFIG_MAPS, config_map("d", a, x))
    await cluster.settle()


@pytest.mark.parametrize(
    ("policy", "left"),
    [("Background", ["d", "x"]), ("Foreground", ["d", "x"]), ("Orphan", ["b", "c", "d", "x"])],
)
def test_what_a_deletion_leaves(policy: str, left: list[str]):
    async def scenario(cluster: Cluster) -> None:
        await family(cluster)
        assert await names(cluster) == ["a", "b", "c", "d", "x"]
        await cluster.delete(CONFIG_MAPS, "default/a", policy)
        await cluster.settle(5)
        assert await names(cluster) == left, cluster.told()
        d = await cluster.get(CONFIG_MAPS, "default/d")
        assert [each["name"] for each in meta.owners(d)] == ["x"]

    simulate(scenario, every)


def test_the_foreground_waits_for_what_blocks_it_only():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        a = await cluster.create(CONFIG_MAPS, config_map("a"))
        held = config_map("held", a)
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(CONFIG_MAPS, held)
        await cluster.create(CONFIG_MAPS, config_map("loose", a, block=False))
        kept = config_map("kept", a, block=False)
        kept["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(CONFIG_MAPS, kept)
        await cluster.delete(CONFIG_MAPS, "default/a", "Foreground")
        await cluster.settle(5)
        # All of them are deleted at once; only one of them is waited for.
        assert await names(cluster) == ["a", "held", "kept"]
        await cluster.patch(CONFIG_MAPS, "default/held", {"metadata": {"finalizers": None}})
        await cluster.settle(5)
        assert await names(cluster) == ["kept"]

    simulate(scenario, every)


def test_what_was_never_owned_by_anything_real_goes():
    # garbagecollector.go, attemptToDeleteItem: an owner is absent if no object has its uid, whoever has its name.
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        a = await cluster.create(CONFIG_MAPS, config_map("a"))
        impostor = {**a, "metadata": {**a["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}}
        await cluster.create(CONFIG_MAPS, config_map("b", impostor))
        await cluster.settle(5)
        assert await names(cluster) == ["a"]
        with pytest.raises(ApiError):
            await cluster.get(CONFIG_MAPS, "default/b")

    simulate(scenario, every)


def test_owners_of_an_unknown_kind_are_left_alone():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        orphan = config_map("b")
        reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "1"}
        orphan["metadata"]["ownerReferences"] = [reference]
        await cluster.create(CONFIG_MAPS, orphan)
        await cluster.settle(60)
        assert await names(cluster) == ["b"]

    simulate(scenario, every)
