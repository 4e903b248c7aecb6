"""Which rule applies to a write of a node: one method a resource."""

from collections.abc import Awaitable, Callable, Mapping

from cryptography.x509.oid import NameOID

from tiphys.apiserver.admission.certificates import parsed
from tiphys.apiserver.admission.chain import WRITES, Attributes, Resources
from tiphys.apiserver.admission.node_restriction import node_labels, tokens
from tiphys.apiserver.admission.node_restriction.mirror_pods import referenced_resource
from tiphys.apiserver.authn.user import NODE_PREFIX, NODES
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors
from tiphys.machinery.tree import Obj, get

MIRROR = "kubernetes.io/config.mirror"
LEASES = "kube-node-lease"
NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_CLAIM_STATUS = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


class NodeRestriction:
    name = "NodeRestriction"
    operations = WRITES
    resources: Resources = frozenset(
        (
            ("", "pods"),
            ("", "nodes"),
            ("", "persistentvolumeclaims"),
            ("", "serviceaccounts"),
            ("coordination.k8s.io", "leases"),
            ("storage.k8s.io", "csinodes"),
            ("resource.k8s.io", "resourceslices"),
            ("certificates.k8s.io", "certificatesigningrequests"),
        )
    )

    def __init__(self, lookup: Lookup, authorizer: Authorizer) -> None:
        self._lookup = lookup
        self._authorizer = authorizer
        self._rules: Mapping[str, Callable[[str, Attributes], Awaitable[None] | None]] = {
            "pods": self._pod,
            "nodes": self._node,
            "persistentvolumeclaims": self._claim,
            "serviceaccounts": self._token,
            "leases": self._lease,
            "csinodes": self._csi_node,
            "resourceslices": self._slice,
            "certificatesigningrequests": self._certificate,
        }

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        user = attributes.user
        if user.name.startswith(NODE_PREFIX) and NODES in user.groups:
            node = user.name.removeprefix(NODE_PREFIX)
            if not node:
                raise attributes.forbidden(f'could not determine node from user "{user.name}"')
            return self._rules[attributes.kind.plural](node, attributes)
        return None

    # --- pods --------------------------------------------------------------------------------------------------------

    def _pod(self, node: str, attributes: Attributes) -> None:
        part, operation = attributes.subresource, attributes.operation
        if part == "status":
            self._pod_status(node, attributes)
        elif part == "eviction":
            self._eviction(node, attributes)
        elif part:
            raise attributes.forbidden(f"unexpected pod subresource \"{part}\", only 'status' and 'eviction' are allowed")
        elif operation == "CREATE":
            self._mirror_pod(node, attributes)
        elif operation != "DELETE":
            told = f'unexpected operation "{operation}", node "{node}" can only create and delete mirror pods'
            raise attributes.forbidden(told)
        elif self._stored_pod(attributes, attributes.name)["spec"].get("nodeName") != node:
            raise attributes.forbidden(f'node "{node}" can only delete pods with spec.nodeName set to itself')

    def _mirror_pod(self, node: str, attributes: Attributes) -> None:
        pod = attributes.obj or {}
        if MIRROR not in (pod["metadata"].get("annotations") or ()):
            raise attributes.forbidden(f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods')
        if pod["spec"].get("nodeName") != node:
            raise attributes.forbidden(f'node "{node}" can only create pods with spec.nodeName set to itself')
        self._mirror_owner(node, attributes, pod["metadata"].get("ownerReferences") or [])
        problem, referenced = referenced_resource(pod)
        if problem:
            raise attributes.forbidden(f"error checking mirror pod for API references: {problem}")
        if referenced:
            raise attributes.forbidden(f'node "{node}" can not create pods that reference {referenced}')

    def _mirror_owner(self, node: str, attributes: Attributes, owners: list[Obj]) -> None:
        if len(owners) > 1:
            raise attributes.forbidden(f'node "{node}" can only create pods with a single owner reference set to itself')
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise attributes.forbidden(f'node "{node}" can only create pods with an owner reference set to itself')
        if not owner.get("controller"):
            raise attributes.forbidden(f'node "{node}" can only create pods with a controller owner reference set to itself')
        if owner.get("blockOwnerDeletion"):
            raise attributes.forbidden(f'node "{node}" must not set blockOwnerDeletion on an owner reference')
        uid = self._stored_node(node)["metadata"].get("uid", "")
        if owner.get("uid") != uid:
            raise attributes.forbidden(f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")

    def _pod_status(self, node: str, attributes: Attributes) -> None:
        new, old = attributes.obj, attributes.old
        if attributes.operation != "UPDATE" or new is None or old is None:
            raise attributes.forbidden(f'unexpected operation "{attributes.operation}"')
        if old["spec"].get("nodeName") != node:
            raise attributes.forbidden(f'node "{node}" can only update pod status for pods with spec.nodeName set to itself')
        if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
            raise attributes.forbidden(f'node "{node}" cannot update labels through pod status')
        before, after = old.get("status") or {}, new.get("status") or {}
        if (before.get("resourceClaimStatuses") or []) != (after.get("resourceClaimStatuses") or []):
            raise attributes.forbidden(f'node "{node}" cannot update resource claim statues')
        if before.get("extendedResourceClaimStatus") != after.get("extendedResourceClaimStatus"):
            raise attributes.forbidden(f'node "{node}" cannot update extended resource claim status')

    def _eviction(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "CREATE":
            raise attributes.forbidden(f"unexpected operation {attributes.operation}")
        name = attributes.name or get(attributes.obj, ("metadata", "name"), "")
        if not name:
            raise attributes.forbidden("could not determine pod from request data")
        if self._stored_pod(attributes, name)["spec"].get("nodeName") != node:
            raise attributes.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")

    # --- the node itself ---------------------------------------------------------------------------------------------

    def _node(self, node: str, attributes: Attributes) -> None:
        if attributes.name != node:
            raise attributes.forbidden(f'node "{node}" is not allowed to modify node "{attributes.name}"')
        new, old = attributes.obj, attributes.old
        if attributes.operation == "CREATE" and new is not None:
            if get(new, ("spec", "configSource")) is not None:
                raise attributes.forbidden(f'node "{node}" is not allowed to create pods with a non-nil configSource')
            labels = node_labels.forbidden(new["metadata"].get("labels") or {}, {})
            if labels:
                told = f'node "{node}" is not allowed to set the following labels: {", ".join(labels)}'
                raise attributes.forbidden(told)
        elif attributes.operation == "UPDATE" and new is not None and old is not None:
            self._changed_node(node, attributes, new, old)

    def _changed_node(self, node: str, attributes: Attributes, new: Obj, old: Obj) -> None:
        source = get(new, ("spec", "configSource"))
        if source is not None and source != get(old, ("spec", "configSource")):
            raise attributes.forbidden(f'node "{node}" is not allowed to update configSource to a new non-nil configSource')
        if (get(new, ("spec", "taints")) or []) != (get(old, ("spec", "taints")) or []):
            raise attributes.forbidden(f'node "{node}" is not allowed to modify taints')
        if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
            raise attributes.forbidden(f'node "{node}" is not allowed to modify ownerReferences')
        labels = node_labels.forbidden(new["metadata"].get("labels") or {}, old["metadata"].get("labels") or {})
        if labels:
            raise attributes.forbidden(f"is not allowed to modify labels: {', '.join(labels)}")

    def _lease(self, node: str, attributes: Attributes) -> None:
        if attributes.namespace != LEASES:
            raise attributes.forbidden(f'can only access leases in the "{LEASES}" system namespace')
        if _name(attributes) != node:
            raise attributes.forbidden("can only access node lease with the same name as the requesting node")

    def _csi_node(self, node: str, attributes: Attributes) -> None:
        if _name(attributes) != node:
            raise attributes.forbidden("can only access CSINode with the same name as the requesting node")

    def _slice(self, node: str, attributes: Attributes) -> None:
        if attributes.operation == "CREATE" and get(attributes.obj, ("spec", "nodeName")) != node:
            raise attributes.forbidden("can only create ResourceSlice with the same NodeName as the requesting node")
        if attributes.operation == "DELETE" and get(attributes.old, ("spec", "nodeName")) != node:
            raise attributes.forbidden("can only delete ResourceSlice with the same NodeName as the requesting node")

    # --- claims, tokens, certificates --------------------------------------------------------------------------------

    def _claim(self, node: str, attributes: Attributes) -> None:
        if attributes.subresource != "status":
            raise attributes.forbidden("may only update PVC status")
        if attributes.operation != "UPDATE" or attributes.obj is None or attributes.old is None:
            raise attributes.forbidden(f'unexpected operation "{attributes.operation}"')
        if _without_node_parts(attributes.obj) != _without_node_parts(attributes.old):
            told = f'node "{node}" is not allowed to update fields other than status.quantity and status.conditions: '
            raise attributes.forbidden(told)

    async def _token(self, node: str, attributes: Attributes) -> None:
        if attributes.operation == "CREATE" and attributes.subresource == "token" and attributes.obj is not None:
            reference = get(attributes.obj, ("spec", "boundObjectRef")) or {}
            if reference.get("apiVersion") != "v1" or reference.get("kind") != "Pod" or not reference.get("name"):
                raise attributes.forbidden("node requested token not bound to a pod")
            if not reference.get("uid"):
                raise attributes.forbidden("node requested token with a pod binding without a uid")
            pod = self._stored_pod(attributes, reference["name"])
            tokens.check_pod(attributes, node, reference["uid"], pod)
            await tokens.check_audience(attributes, pod, self._lookup, self._authorizer)

    def _certificate(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "CREATE" or attributes.obj is None:
            return
        if attributes.obj["spec"].get("signerName") not in NODE_SIGNERS:
            return
        try:
            subject = parsed(attributes.obj["spec"].get("request", "")).subject
        except ValueError as problem:
            raise attributes.forbidden(f"unable to parse csr: {problem}") from None
        names = [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if names[-1:] != [f"system:node:{node}"]:
            raise attributes.forbidden(f"can only create a node CSR with CN=system:node:{node}")

    # --- what is stored ----------------------------------------------------------------------------------------------

    def _stored_pod(self, attributes: Attributes, name: str) -> Obj:
        pod = self._lookup.get("pods", f"{attributes.namespace}/{name}")
        if pod is None:
            raise errors.not_found("", "pods", name)
        return pod

    def _stored_node(self, name: str) -> Obj:
        node = self._lookup.get("minions", name)
        if node is None:
            raise errors.not_found("", "nodes", name)
        return node


def _name(attributes: Attributes) -> str:
    created: str = get(attributes.obj, ("metadata", "name"), "")
    return created if attributes.operation == "CREATE" else attributes.name


def _without_node_parts(claim: Mapping[str, Obj]) -> Obj:
    metadata = {key: each for key, each in claim["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    status = {key: each for key, each in (claim.get("status") or {}).items() if key not in _CLAIM_STATUS}
    return {**claim, "metadata": metadata, "status": status}
