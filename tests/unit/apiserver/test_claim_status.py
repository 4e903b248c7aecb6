"""Who may say what in the status of a claim: the words of kube-apiserver v1.36.4, which was asked the same.
KEP-4817, pkg/registry/resource/utils.go."""

import pytest
from tests.cluster import NOBODY, Cluster, simulate

from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.apiserver.authn.user import User
from tiphys.client.interface import Client
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

CLAIM: Obj = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}},
}
RESULT = {"request": "one", "driver": "d.example.com", "pool": "p", "device": "x"}
ON_A_NODE = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
ALLOCATION = {"devices": {"results": [RESULT]}, "nodeSelector": ON_A_NODE}
CONDITION = {"type": "r", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
DEVICES = [{"driver": "d.example.com", "pool": "p", "device": "x", "conditions": [CONDITION]}]
DRIVER = User(
    "system:serviceaccount:default:driver",
    ("system:authenticated",),
    extra=(("authentication.kubernetes.io/node-name", ("n",)),),
)


async def allow(cluster: Cluster, name: str, *rules: tuple[str, str]) -> None:
    listed = [{"apiGroups": ["resource.k8s.io"], "resources": [what], "verbs": [verb]} for what, verb in rules]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": listed}
    await cluster.create(CLUSTER_ROLES, role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]}
    await cluster.create(CLUSTER_ROLE_BINDINGS, {**binding, "apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding"})


async def say(client: Client, **status: object) -> str:
    try:
        await client.patch(RESOURCECLAIMS, "a", {"status": status}, "default", subresource="status")
    except ApiError as refused:
        return str(refused)
    return ""


def test_whoever_may_write_the_status_may_not_yet_bind_the_claim():
    async def scenario(cluster: Cluster) -> None:
        await allow(cluster, NOBODY.name, ("resourceclaims/status", "patch"))
        await cluster.create(RESOURCECLAIMS, CLAIM)
        await cluster.settle()
        told = (
            'ResourceClaim.resource.k8s.io "a" is invalid: status.allocation: Forbidden: changing status.allocation or '
            'status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: '
            'resourceclaims.resource.k8s.io is forbidden: User "alice" cannot patch resource "resourceclaims/binding" in API '
            'group "resource.k8s.io" at the cluster scope'
        )
        alice = cluster.client(NOBODY, "test")
        assert await say(alice, allocation=ALLOCATION) == told
        assert await say(cluster.admin, allocation=ALLOCATION) == ""
        assert await say(alice, allocation=None) == told
        assert await say(alice) == ""

    simulate(scenario)


def test_what_is_told_of_a_device_is_its_drivers():
    async def scenario(cluster: Cluster) -> None:
        await allow(cluster, NOBODY.name, ("resourceclaims/status", "patch"))
        await cluster.create(RESOURCECLAIMS, CLAIM)
        assert await say(cluster.admin, allocation=ALLOCATION) == ""
        await cluster.settle()
        told = (
            'ResourceClaim.resource.k8s.io "a" is invalid: status.devices: Forbidden: changing status.devices requires '
            'resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io '
            '"d.example.com" is forbidden: User "alice" cannot arbitrary-node:patch resource "resourceclaims/driver" in API '
            'group "resource.k8s.io" in the namespace "default"'
        )
        assert await say(cluster.client(NOBODY, "test"), devices=DEVICES) == told

    simulate(scenario)


@pytest.mark.parametrize(
    ("verb", "allowed"), [("associated-node:patch", True), ("arbitrary-node:patch", True), ("patch", False)]
)
def test_a_driver_on_the_node_of_the_device_may_tell_of_it(verb: str, allowed: bool):
    async def scenario(cluster: Cluster) -> None:
        await allow(cluster, DRIVER.name, ("resourceclaims/status", "patch"), ("resourceclaims/driver", verb))
        await cluster.create(RESOURCECLAIMS, CLAIM)
        assert await say(cluster.admin, allocation=ALLOCATION) == ""
        await cluster.settle()
        refused = await say(cluster.client(DRIVER, "test"), devices=DEVICES)
        assert (refused == "") is allowed
        if refused:
            assert 'verb="[associated-node:patch arbitrary-node:patch]"' in refused

    simulate(scenario)
