"""A node may do what its own pods need, and no more: secrets, volumes and tokens of pods elsewhere are closed to it."""

from collections.abc import Callable, Iterable

from tiphys.apiserver.authn.user import NODE_PREFIX, NODES, User
from tiphys.apiserver.authz.attributes import ALLOWED, NO_OPINION, READ_VERBS, Attributes, Decision, Rules, Verdict
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.authz.rules import compile_rules
from tiphys.machinery.fields import quote
from tiphys.machinery.selectors import parse_fields
from tiphys.machinery.tree import Obj

_OWN_VERBS = frozenset(("get", "create", "update", "patch", "delete"))
_SLICE_VERBS = "get, watch, list, create, update, patch, delete, deletecollection"

_Judge = Callable[["NodeAuthorizer", str, Attributes], Decision]


def node_of(user: User) -> str | None:
    """The node that the user is; empty for a node that does not say which; None for anybody else."""
    if NODES not in user.groups or not user.name.startswith(NODE_PREFIX):
        return None
    return user.name.removeprefix(NODE_PREFIX)


class NodeAuthorizer:
    """`rules`: what every node may do besides, as the role system:node has it."""

    def __init__(self, graph: NodeGraph, rules: Iterable[Obj]) -> None:
        self._graph = graph
        self._rules = compile_rules(rules)

    def authorize(self, asked: Attributes) -> Decision:
        node = node_of(asked.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {quote(asked.user.name)}")
        if not asked.path:
            judge = _JUDGES.get((asked.group, asked.resource))
            if judge is not None:
                return judge(self, node, asked)
        return ALLOWED if self._covered(asked) else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002 - what it may do changes with every pod
        if node_of(user) is None:
            return Rules()
        return Rules(incomplete=True, problem="node authorizer does not support user rule resolution")

    def _covered(self, asked: Attributes) -> bool:
        if asked.path:
            return any(rule.covers_path(asked.verb, asked.path) for rule in self._rules)
        return any(
            rule.covers_resource(asked.verb, asked.group, asked.resource, asked.subresource)
            and (not rule.names or asked.name in rule.names)
            for rule in self._rules
        )

    def related(self, node: str, asked: Attributes) -> Decision:
        if not asked.name:
            return _no("No Object name found")
        if not self._graph.needs(node, asked.resource, asked.namespace, asked.name):
            return _no(f"no relationship found between node '{node}' and this object")
        return ALLOWED

    def readable(self, node: str, asked: Attributes) -> Decision:
        if asked.verb not in READ_VERBS:
            return _no("can only read resources of this type")
        if asked.subresource:
            return _no("cannot read subresource")
        if not asked.namespace:
            return _no("can only read namespaced object of this type")
        return self.related(node, asked)

    def gettable(self, node: str, asked: Attributes) -> Decision:
        if asked.verb != "get":
            return _no("can only get individual resources of this type")
        if asked.subresource:
            return _no("cannot get subresource")
        return self.related(node, asked)

    def claim(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource != "status":
            return self.gettable(node, asked)
        if asked.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self.related(node, asked)

    def service_account(self, node: str, asked: Attributes) -> Decision:
        if asked.verb == "get" and not asked.subresource:
            return self.readable(node, asked)
        if asked.verb != "create" or not asked.name:
            return _no("can only create tokens for individual service accounts")
        if asked.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self.related(node, asked)

    def lease(self, node: str, asked: Attributes) -> Decision:
        if asked.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a node lease")
        if asked.namespace != "kube-node-lease":
            return _no('can only access leases in the "kube-node-lease" system namespace')
        if asked.verb != "create" and asked.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return ALLOWED

    def csi_node(self, node: str, asked: Attributes) -> Decision:
        if asked.verb not in _OWN_VERBS:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if asked.subresource:
            return _no("cannot authorize CSINode subresources")
        if asked.verb != "create" and asked.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    def resource_slice(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if asked.verb == "create":
            return ALLOWED
        if asked.verb in ("get", "update", "patch", "delete"):
            return self.related(node, asked)
        if asked.verb not in ("watch", "list", "deletecollection"):
            return _no(f"only the following verbs are allowed for a ResourceSlice: {_SLICE_VERBS}")
        if _selects(asked, "spec.nodeName", node):
            return ALLOWED
        return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")

    def node(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource == "status":
            return ALLOWED if asked.verb in ("update", "patch") else NO_OPINION
        if asked.subresource:
            return NO_OPINION
        if asked.verb in ("create", "update", "patch"):
            return ALLOWED
        if asked.verb not in READ_VERBS:
            return NO_OPINION
        if asked.name == node:
            return ALLOWED
        if not asked.name:
            return _no(f"node '{node}' cannot read all nodes, only its own Node object")
        return _no(f"node '{node}' cannot read '{asked.name}', only its own Node object")

    def pod(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource:
            wanted = {"status": ("update", "patch"), "eviction": ("create",)}.get(asked.subresource, ())
            return ALLOWED if asked.verb in wanted else NO_OPINION
        if asked.verb == "get":
            return self.gettable(node, asked)
        if asked.verb in ("create", "delete"):
            return ALLOWED
        if asked.verb not in ("list", "watch"):
            return NO_OPINION
        if _selects(asked, "spec.nodeName", node):
            return ALLOWED
        if asked.name:
            return self.related(node, asked)
        return _no("can only list/watch pods with spec.nodeName field selector")


_JUDGES: dict[tuple[str, str], _Judge] = {
    ("", "secrets"): NodeAuthorizer.readable,
    ("", "configmaps"): NodeAuthorizer.readable,
    ("", "persistentvolumeclaims"): NodeAuthorizer.claim,
    ("", "persistentvolumes"): NodeAuthorizer.gettable,
    ("", "serviceaccounts"): NodeAuthorizer.service_account,
    ("", "nodes"): NodeAuthorizer.node,
    ("", "pods"): NodeAuthorizer.pod,
    ("resource.k8s.io", "resourceclaims"): NodeAuthorizer.gettable,
    ("resource.k8s.io", "resourceslices"): NodeAuthorizer.resource_slice,
    ("storage.k8s.io", "volumeattachments"): NodeAuthorizer.gettable,
    ("storage.k8s.io", "csinodes"): NodeAuthorizer.csi_node,
    ("coordination.k8s.io", "leases"): NodeAuthorizer.lease,
}


def _no(reason: str) -> Decision:
    return Decision(Verdict.NO_OPINION, reason)


def _selects(asked: Attributes, field: str, value: str) -> bool:
    try:
        return parse_fields(asked.field_selector).exact(field) == value
    except ValueError:
        return False
