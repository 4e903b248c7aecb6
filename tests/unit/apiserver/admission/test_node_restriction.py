"""What a kubelet may write. The refusals were compared with a v1.36.4 server."""

import pytest

from tiphys.apiserver.admission.node_restriction import node_labels
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import AlwaysDeny

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


def node(name="n1", labels=None, **spec):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


@pytest.fixture
def with_nodes(serve, make_pod):
    """A server with the nodes n1 and n2, and a pod on each."""

    async def make():
        server = serve(enabled=("NodeRestriction",), authorizer=AlwaysDeny())
        await server.namespace("t")
        for number in "12":
            await server.create("nodes", node(f"n{number}"))
            await server.create("pods", make_pod(f"p{number}", nodeName=f"n{number}"))
        return server

    return make


def owner(uid="x", **more):
    return {**MIRROR, "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, **more}]}


@pytest.mark.parametrize(
    ("metadata", "node_name", "why"),
    [
        ({}, "n1", 'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods'),
        (MIRROR, "", 'node "n1" can only create pods with spec.nodeName set to itself'),
        (MIRROR, "n1", 'node "n1" can only create pods with an owner reference set to itself'),
        (owner(), "n1", 'node "n1" can only create pods with a controller owner reference set to itself'),
        (
            owner(controller=True, blockOwnerDeletion=True),
            "n1",
            'node "n1" must not set blockOwnerDeletion on an owner reference',
        ),
        (owner(controller=True), "n1", "node n1 UID mismatch: expected x got {uid}"),
    ],
)
async def test_a_node_creates_its_own_mirror_pods_only(with_nodes, make_pod, metadata, node_name, why):
    server = await with_nodes()
    uid = (await server.get("nodes", "n1"))["metadata"]["uid"]
    pod = make_pod(metadata=metadata, **({"nodeName": node_name} if node_name else {}))
    status = await server.create("pods", pod, user=NODE)
    assert (status["code"], status["message"]) == (403, f'pods "p" is forbidden: {why.format(uid=uid)}')


@pytest.mark.parametrize(
    ("spec", "referenced"),
    [
        ({}, ""),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}, ""),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": []}}]}}]}, ""),
        ({"volumes": [{"name": "v", "configMap": {"name": "s"}}]}, "configmaps"),
        ({"container": {"envFrom": [{"configMapRef": {"name": "s"}}]}}, "configmaps"),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "s"}}]}, "persistentvolumeclaims"),
        ({"volumes": [{"name": "v", "csi": {"driver": "d"}}]}, "csidrivers (via CSI volumes)"),
        ({"volumes": [{"name": "v", "glusterfs": {"endpoints": "e", "path": "p"}}]}, "endpoints (via glusterFS volumes)"),
    ],
)
async def test_a_mirror_pod_refers_to_nothing(with_nodes, make_pod, spec, referenced):
    server = await with_nodes()
    uid = (await server.get("nodes", "n1"))["metadata"]["uid"]
    pod = make_pod(metadata=owner(uid, controller=True), nodeName="n1", **spec)
    answer = await server.create("pods", pod, user=NODE)
    told = f'pods "p" is forbidden: node "n1" can not create pods that reference {referenced}'
    assert answer.get("message", "") == (told if referenced else "")


async def test_a_node_touches_its_own_pods_only(with_nodes):
    server = await with_nodes()
    running = {"status": {"phase": "Running"}}

    async def status_of(name, patch):
        return (await server.patch("pods", name, patch, "t", user=NODE, subresource="status")).get("message", "")

    assert await status_of("p1", running) == ""
    told = 'node "n1" can only update pod status for pods with spec.nodeName set to itself'
    assert await status_of("p2", running) == f'pods "p2" is forbidden: {told}'
    relabelled = {**running, "metadata": {"labels": {"a": "b"}}}
    assert await status_of("p1", relabelled) == 'pods "p1" is forbidden: node "n1" cannot update labels through pod status'
    claims = {"status": {"resourceClaimStatuses": [{"name": "a"}]}}
    assert await status_of("p1", claims) == 'pods "p1" is forbidden: node "n1" cannot update resource claim statues'
    status = await server.delete("pods", "p2", "t", user=NODE)
    assert status["message"] == 'pods "p2" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself'
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p2", "namespace": "t"}}
    status = await server.create("pods", eviction, user=NODE, name="p2", subresource="eviction")
    assert status["message"] == 'pods "p2" is forbidden: node n1 can only evict pods with spec.nodeName set to itself'
    assert (await server.delete("pods", "p1", "t", user=NODE)).get("code") != 403


async def test_a_node_writes_itself_only_and_not_what_decides_where_pods_go(with_nodes):
    server = await with_nodes()

    async def change(name, patch):
        return (await server.patch("nodes", name, patch, user=NODE)).get("message", "")

    assert await change("n2", {"spec": {}}) == 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'
    taints = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    assert await change("n1", taints) == 'nodes "n1" is forbidden: node "n1" is not allowed to modify taints'
    labels = {"metadata": {"labels": {"foo.kubernetes.io/a": "b"}}}
    assert await change("n1", labels) == 'nodes "n1" is forbidden: is not allowed to modify labels: foo.kubernetes.io/a'
    assert await change("n1", {"metadata": {"labels": {"topology.kubernetes.io/zone": "z", "mine": "x"}}}) == ""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n2", "namespace": "t"}, "spec": {}}
    status = await server.create("leases", lease, "coordination.k8s.io", user=NODE)
    assert status["message"].endswith('can only access leases in the "kube-node-lease" system namespace')


# staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go:45
@pytest.mark.parametrize(
    ("label", "forbidden"),
    [
        ("kubernetes.io/hostname", False),
        ("kubernetes.io/role", True),
        ("node.kubernetes.io/instance-type", False),
        ("x.node.kubernetes.io/anything", False),
        ("node-restriction.kubernetes.io/x", True),
        ("a.node-restriction.kubernetes.io/x", True),
        ("k8s.io/x", True),
        ("example.com/x", False),
        ("plain", False),
    ],
)
def test_labels_of_a_node(label, forbidden):
    assert node_labels.forbidden({label: "1"}, {}) == ([label] if forbidden else [])
    assert node_labels.forbidden({label: "1"}, {label: "1"}) == []


async def test_others_are_not_concerned(with_nodes):
    server = await with_nodes()
    alice = User("alice", ("system:nodes",))
    assert (await server.patch("nodes", "n2", {"metadata": {"labels": {"a": "b"}}}, user=alice))["kind"] == "Node"
