"""What the network of a node may do: the user that it goes by, and the role that `tiphys up` gives it.

A node that joined has one certificate, its own, which does for its network too: so all nodes have the role. What it adds to
what nodes may see anyhow is the pods of other nodes, namespaces and policies: a network has to see them wherever it runs.
"""

from tiphys.api.kind import Kind
from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.apiserver.authn.user import NODES
from tiphys.client.interface import Client
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

USER = "system:tiphys:network"

_GROUP = "rbac.authorization.k8s.io"
_LOOK = ["list", "watch"]
_KEEP = ["get", "create", "update", "patch", "delete"]


def objects() -> list[tuple[Kind, Obj]]:
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "namespaces", "pods"], "verbs": _LOOK},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", *_LOOK]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": _LOOK},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _LOOK},
        {"apiGroups": ["networking.k8s.io"], "resources": ["servicecidrs"], "verbs": _LOOK},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {"apiGroups": [""], "resources": ["services"], "resourceNames": ["kube-dns"], "verbs": _KEEP},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kube-dns"], "verbs": _LOOK},
        {"apiGroups": [""], "resources": ["services"], "verbs": ["create"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _KEEP},
    ]
    role: Obj = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": USER}, "rules": rules}
    binding: Obj = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": USER}],
    }
    of_nodes = {
        **binding,
        "metadata": {"name": f"{USER}:nodes"},
        "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": NODES}],
    }
    return [(CLUSTER_ROLES, role), (CLUSTER_ROLE_BINDINGS, binding), (CLUSTER_ROLE_BINDINGS, of_nodes)]


def metrics_reader() -> tuple[Kind, Obj]:
    """Whoever may look at pods may know what they use: the role that metrics-server brings along."""
    labels = {f"{_GROUP}/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    rules = [{"apiGroups": ["metrics.k8s.io"], "resources": ["pods", "nodes"], "verbs": ["get", *_LOOK]}]
    meta = {"name": "system:aggregated-metrics-reader", "labels": labels}
    return CLUSTER_ROLES, {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules}


async def ensure(client: Client) -> None:
    """Make the roles and the binding. What somebody gave them since stays, and what a role lacks is added."""
    for kind, obj in (*objects(), metrics_reader()):
        try:
            await client.create(kind, obj)
        except ApiError as problem:
            if problem.reason != "AlreadyExists":
                raise
            if kind is CLUSTER_ROLES:
                await _complete(client, obj)


async def _complete(client: Client, role: Obj) -> None:
    there = await client.get(CLUSTER_ROLES, role["metadata"]["name"])
    lacks = [each for each in role["rules"] if each not in (there.get("rules") or ())]
    if lacks:
        await client.update(CLUSTER_ROLES, {**there, "rules": [*(there.get("rules") or ()), *lacks]})
