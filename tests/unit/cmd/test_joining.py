"""What a node that joins finds. v1.36.4 cmd/kubeadm/app/phases/bootstraptoken: clusterinfo.go, tlsbootstrap.go."""

import yaml
from tests.cluster import NOBODY, Cluster, simulate

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.cmd import joining
from tiphys.cmd.joining import TOKEN_GROUP

REQUESTS = "system:certificates.k8s.io:certificatesigningrequests"


def bound(objects):
    return {(obj["roleRef"]["name"], subject["name"]) for _, obj in objects if "roleRef" in obj for subject in obj["subjects"]}


def test_who_joins_may_ask_for_a_certificate_and_no_more():
    assert bound(joining.rights()) == {
        ("kubeadm:bootstrap-signer-clusterinfo", "system:anonymous"),
        ("kubeadm:get-nodes", TOKEN_GROUP),
        ("kubeadm:kubelet-config", TOKEN_GROUP),
        ("kubeadm:kubelet-config", "system:nodes"),
        ("system:node-bootstrapper", TOKEN_GROUP),
        (f"{REQUESTS}:nodeclient", TOKEN_GROUP),
        (f"{REQUESTS}:selfnodeclient", "system:nodes"),
    }


def test_another_group_has_bindings_of_its_own():
    group = "system:bootstrappers:edge"
    names = {obj["metadata"]["name"] for _, obj in joining.rights_of(group)}
    assert not names & {obj["metadata"]["name"] for _, obj in joining.rights()}
    assert {subject for _, subject in bound(joining.rights_of(group))} == {group}


def test_it_can_be_made_twice_and_follows_the_server():
    async def scenario(cluster: Cluster) -> None:
        await joining.ensure(cluster.admin, "https://10.0.0.1:6443", b"authority")
        await cluster.patch(CONFIG_MAPS, "kube-public/cluster-info", {"data": {"jws-kubeconfig-abcdef": "signed"}})
        await joining.ensure(cluster.admin, "https://10.0.0.2:6443", b"authority", ("system:bootstrappers:edge",))
        data = (await cluster.get(CONFIG_MAPS, "kube-public/cluster-info"))["data"]
        assert data["jws-kubeconfig-abcdef"] == "signed"
        config = yaml.safe_load(data["kubeconfig"])
        cluster_entry = {"server": "https://10.0.0.2:6443", "certificate-authority-data": "YXV0aG9yaXR5"}
        assert config["clusters"] == [{"name": "", "cluster": cluster_entry}]
        assert not config["users"]

    simulate(scenario)


def test_anybody_may_see_who_the_cluster_is():
    async def scenario(cluster: Cluster) -> None:
        await joining.ensure(cluster.admin, "https://10.0.0.1:6443", b"authority")
        anonymous = cluster.client(NOBODY.__class__("system:anonymous", ("system:unauthenticated",)), "test")
        found = await anonymous.get(CONFIG_MAPS, "cluster-info", "kube-public")
        assert found["data"]["kubeconfig"]

    simulate(scenario)
