"""Static pods and their mirrors, against the API server (pkg/kubelet/kubelet.go, tryReconcileMirrorPods)."""

import asyncio

from tests.cluster import simulate

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.base.tasks import cancel, start
from tiphys.client.informer import Informer
from tiphys.kubelet.static.manifests import original, static_pod
from tiphys.kubelet.static.source import StaticPods
from tiphys.machinery.meta import key

TEXT = 'apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: "web:1"}]}\n'


def pod(name, image="web:1"):
    return static_pod(TEXT.replace("NAME", name).replace("web:1", image).encode(), name, "n1", 1000.0)


class Source:
    def __init__(self, *pods):
        self.every = 1.0
        self.pods = list(pods)
        self.known = True

    async def look(self):
        return list(self.pods) if self.known else None


def play(sources, scene):
    async def scenario(cluster):
        node = await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        static = StaticPods(sources, cluster.admin, cluster.clock, cluster.log)
        informer = Informer(cluster.admin, PODS, cluster.clock, lambda: 0.5, cluster.log)

        def seen(old, new):
            if new is None:
                static.mirrors.pop(key(old), None)
            else:
                static.mirrors[key(new)] = new

        informer.add_handler(seen)
        changes = []

        async def running(ready):
            await static.run(lambda: changes.append(set(static.pods)), lambda: node, ready)

        async with asyncio.TaskGroup() as group:
            tasks = [await start(group, informer.run, name="pods"), await start(group, running, name="static pods")]
            await cluster.settle(3)
            await scene(cluster, static, changes)
            for each in tasks:
                await cancel(each)

    simulate(scenario)


async def mirrors(cluster):
    return {each["metadata"]["name"]: original(each) for each in await cluster.list(PODS)}


def test_each_pod_has_its_mirror_and_a_deleted_mirror_is_made_again():
    source, other = Source(pod("a")), Source(pod("b"))

    async def scene(cluster, static, changes):
        a, b = pod("a")["metadata"]["uid"], pod("b")["metadata"]["uid"]
        assert await mirrors(cluster) == {"a-n1": a, "b-n1": b}
        assert changes[-1] == {a, b}
        assert static.mirror_of(pod("a"))["metadata"]["ownerReferences"][0]["name"] == "n1"
        before = (await cluster.get(PODS, "default/a-n1"))["metadata"]["uid"]
        await cluster.delete(PODS, "default/a-n1")
        await cluster.settle(3)
        assert (await cluster.get(PODS, "default/a-n1"))["metadata"]["uid"] != before

    play([source, other], scene)


def test_another_text_is_another_pod_and_another_mirror():
    source = Source(pod("a"))

    async def scene(cluster, static, changes):
        source.pods = [pod("a", "web:2")]
        await cluster.settle(4)
        wanted = source.pods[0]["metadata"]["uid"]
        assert changes[-1] == {wanted}
        assert await mirrors(cluster) == {"a-n1": wanted}
        assert static.mirror_of(pod("a")) is None
        source.pods = []
        await cluster.settle(4)
        assert await mirrors(cluster) == {}

    play([source], scene)


def test_while_a_source_has_not_been_read_nothing_is_taken_away():
    """After a restart of the kubelet: a page that does not answer may still want what is there."""
    source, page = Source(pod("a")), Source()

    async def scene(cluster, static, _changes):
        page.pods = [pod("b")]
        await cluster.settle(3)
        known = await mirrors(cluster)
        again = StaticPods([source, page], cluster.admin, cluster.clock, cluster.log)
        page.known = False
        again.mirrors.update(static.mirrors)
        async with asyncio.TaskGroup() as group:
            node = await cluster.get(NODES, "n1")
            run = group.create_task(again.run(lambda: None, lambda: node, lambda: None))
            await cluster.settle(5)
            assert not again.known
            assert await mirrors(cluster) == known
            page.known, page.pods = True, []
            await cluster.settle(5)
            assert again.known
            assert list(await mirrors(cluster)) == ["a-n1"]
            await cancel(run)

    play([source, page], scene)
