"""A node joins: token, request, approval, certificate; and all of it cleared away in the end.

https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
"""

from typing import Any

from tests.cluster import Cluster, simulate
from tests.unit.controllers.certificates.conftest import NODE, NOW, csr

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.secrets import SECRETS
from tiphys.apiserver.authn.user import User
from tiphys.base import tls
from tiphys.cmd import joining
from tiphys.cmd.token_command import secret_of
from tiphys.controllers.certificates import SIGNERS, Authority
from tiphys.controllers.node_ipam import ranges
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.tree import get

BOOTSTRAPPER = User("system:bootstrap:abcdef", ("system:bootstrappers", joining.TOKEN_GROUP, "system:authenticated"))


def every() -> list[Any]:
    authority = Authority.of(tls.make_authority("test", now=NOW))
    serials = iter(range(1, 1000))
    return controllers(Settings("certificate", signing=dict.fromkeys(SIGNERS, authority), serial=lambda: next(serials)))


async def names(cluster: Cluster) -> list[str]:
    return [meta.name(each) for each in await cluster.list(CERTIFICATE_SIGNING_REQUESTS)]


def asked(name: str, **given: Any) -> dict[str, Any]:
    made = csr(**given)
    return {**made, "metadata": {"name": name}, "status": {}}


def test_a_bootstrapper_gets_its_certificate_and_the_node_renews_it():
    async def scenario(cluster: Cluster) -> None:
        await joining.ensure(cluster.admin, "https://10.0.0.1:6443", b"authority")
        kubelet = cluster.client(BOOTSTRAPPER, "kubelet")
        await kubelet.create(CERTIFICATE_SIGNING_REQUESTS, asked("first"))
        node = cluster.client(User(NODE, ("system:nodes", "system:authenticated")), "kubelet")
        await node.create(CERTIFICATE_SIGNING_REQUESTS, asked("renewed"))
        await cluster.settle()
        for name, reason in (("first", "Auto approving kubelet client"), ("renewed", "Auto approving self kubelet client")):
            found = await cluster.get(CERTIFICATE_SIGNING_REQUESTS, name)
            assert found["status"]["conditions"][0]["message"].startswith(reason), cluster.told()
            assert found["status"]["certificate"]
        await cluster.settle(3700)
        assert await names(cluster) == []

    simulate(scenario, every)


def test_who_may_not_waits_until_somebody_approves_by_hand():
    async def scenario(cluster: Cluster) -> None:
        stranger = User("stranger", ("system:masters", "system:authenticated"))
        await cluster.client(stranger, "test").create(
            CERTIFICATE_SIGNING_REQUESTS,
            asked("by-hand", signer="kubernetes.io/kube-apiserver-client", usages=("client auth",)),
        )
        await cluster.settle(60)
        found = await cluster.get(CERTIFICATE_SIGNING_REQUESTS, "by-hand")
        assert not get(found, ("status", "certificate"))
        condition = {"type": "Approved", "status": "True", "reason": "Mine"}
        await cluster.patch(CERTIFICATE_SIGNING_REQUESTS, "by-hand", {"status": {"conditions": [condition]}}, "approval")
        await cluster.settle()
        assert (await cluster.get(CERTIFICATE_SIGNING_REQUESTS, "by-hand"))["status"]["certificate"]

    simulate(scenario, every)


def test_a_refusal_is_asked_about_less_and_less_often():
    async def scenario(cluster: Cluster) -> None:
        allowed = ("kubelet-bootstrap",)
        for kind, binding in joining.rights():
            if meta.name(binding).endswith(allowed):
                await cluster.create(kind, binding)
        await cluster.client(BOOTSTRAPPER, "kubelet").create(CERTIFICATE_SIGNING_REQUESTS, asked("alone"))
        await cluster.settle(600)
        assert not get(await cluster.get(CERTIFICATE_SIGNING_REQUESTS, "alone"), ("status", "conditions"))
        assert cluster.manager is not None
        (approving,) = (each for each in cluster.manager.runners if each.controller.name.endswith("approving-controller"))
        asked_for = [turn for turn in approving.history if turn.wrote]
        assert 10 < len(asked_for) < 25

    simulate(scenario, every)


def test_cluster_info_is_signed_while_the_token_lasts():
    async def scenario(cluster: Cluster) -> None:
        await joining.ensure(cluster.admin, "https://10.0.0.1:6443", b"authority")
        now = cluster.clock.now()
        await cluster.create(SECRETS, secret_of("abcdef.0123456789abcdef", 3600, ("signing",), (), "", now))
        await cluster.settle()
        data = (await cluster.get(CONFIG_MAPS, "kube-public/cluster-info"))["data"]
        assert data["jws-kubeconfig-abcdef"].count(".") == 2
        await cluster.settle(3600)
        data = (await cluster.get(CONFIG_MAPS, "kube-public/cluster-info"))["data"]
        assert "jws-kubeconfig-abcdef" not in data
        assert await cluster.list(SECRETS, "kube-system") == []

    simulate(scenario, every)


def test_nodes_get_ranges_of_addresses_and_keep_them():
    def with_ranges() -> list[Any]:
        return controllers(Settings(pod_ranges=ranges("10.0.0.0/22")))

    async def scenario(cluster: Cluster) -> None:
        for name in ("a", "b", "c"):
            await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await cluster.settle()
        given = {meta.name(node): node["spec"]["podCIDR"] for node in await cluster.list(NODES)}
        assert sorted(given.values()) == ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"]
        await cluster.delete(NODES, "a")
        for name in ("d", "e", "f"):
            await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await cluster.settle()
        nodes = {meta.name(node): node["spec"].get("podCIDR") for node in await cluster.list(NODES)}
        assert sum(each is None for each in nodes.values()) == 1
        await cluster.delete(NODES, "b")
        await cluster.settle(60)
        nodes = {meta.name(node): node["spec"].get("podCIDR") for node in await cluster.list(NODES)}
        assert len(set(nodes.values())) == 4
        assert nodes["c"] == given["c"]
        assert None not in nodes.values()

    simulate(scenario, with_ranges)
