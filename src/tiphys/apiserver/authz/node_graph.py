"""Which objects the pods of a node need: what the node authorizer looks up.

Fed with pods, persistent volumes, volume attachments and resource slices as they change. A status write of a pod, the most
frequent change of all, is recognised and costs next to nothing.
"""

from collections.abc import Iterable
from typing import Any

from tiphys.api.core.pods.references import VOLUMES_WITH_SECRETS, Reference, references_of
from tiphys.machinery.tree import Obj, get

_CSI_SECRETS = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


class NodeGraph:
    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, Any, frozenset[Reference]]] = {}
        """Node, what tells that nothing changed, and references of each pod that has a node."""
        self._users: dict[Reference, dict[str, int]] = {}
        """By how many pods of which nodes an object is used."""
        self._claims: dict[str, Reference] = {}
        """The claim of each persistent volume."""
        self._volumes_of: dict[Reference, set[str]] = {}
        """The volumes that need a secret."""
        self._secrets_of: dict[str, tuple[Reference, ...]] = {}
        self._owned: dict[Reference, str] = {}
        """The node of each volume attachment and resource slice."""

    def set(self, plural: str, obj: Obj) -> None:
        metadata = obj["metadata"]
        name = metadata["name"]
        if plural == "pods":
            self._set_pod(f"{metadata.get('namespace', '')}/{name}", obj)
        elif plural == "persistentvolumes":
            self._set_volume(name, obj)
        else:
            node = get(obj, ("spec", "nodeName"), "")
            if node:
                self._owned[plural, "", name] = node
            else:
                self._owned.pop((plural, "", name), None)

    def remove(self, plural: str, key: str) -> None:
        """`key` is `name`, or `namespace/name`."""
        if plural == "pods":
            self._drop_pod(key)
        elif plural == "persistentvolumes":
            self._drop_volume(key)
        else:
            self._owned.pop((plural, "", key), None)

    def needs(self, node: str, plural: str, namespace: str, name: str) -> bool:
        """Whether `node` has to do with the object."""
        reference = (plural, namespace, name)
        if plural == "pods":
            return self._pods.get(f"{namespace}/{name}", ("", None, None))[0] == node
        if plural == "persistentvolumes":
            return self._needs_volume(node, name)
        if reference in self._owned:
            return self._owned[reference] == node
        if node in self._users.get(reference, ()):
            return True
        return any(self._needs_volume(node, volume) for volume in self._volumes_of.get(reference, ()))

    def _needs_volume(self, node: str, name: str) -> bool:
        claim = self._claims.get(name)
        return claim is not None and node in self._users.get(claim, ())

    def _set_pod(self, key: str, pod: Obj) -> None:
        spec = pod.get("spec") or {}
        node = spec.get("nodeName", "")
        if not node:
            self._drop_pod(key)
            return
        token = _token(pod, spec)
        known = self._pods.get(key)
        if known is not None and known[0] == node and known[1] == token:
            return
        self._drop_pod(key)
        references = frozenset(references_of(pod))
        self._pods[key] = node, token, references
        for reference in references:
            users = self._users.setdefault(reference, {})
            users[node] = users.get(node, 0) + 1

    def _drop_pod(self, key: str) -> None:
        known = self._pods.pop(key, None)
        if known is None:
            return
        node, _, references = known
        for reference in references:
            users = self._users[reference]
            users[node] -= 1
            if not users[node]:
                del users[node]
            if not users:
                del self._users[reference]

    def _set_volume(self, name: str, volume: Obj) -> None:
        self._drop_volume(name)
        claim = get(volume, ("spec", "claimRef"))
        if claim is None:
            return
        self._claims[name] = "persistentvolumeclaims", claim.get("namespace", ""), claim.get("name", "")
        secrets = tuple(_secrets_of_volume(volume["spec"], claim.get("namespace", "")))
        self._secrets_of[name] = secrets
        for secret in secrets:
            self._volumes_of.setdefault(secret, set()).add(name)

    def _drop_volume(self, name: str) -> None:
        self._claims.pop(name, None)
        for secret in self._secrets_of.pop(name, ()):
            volumes = self._volumes_of[secret]
            volumes.discard(name)
            if not volumes:
                del self._volumes_of[secret]


def _token(pod: Obj, spec: Obj) -> Any:
    """All else that a pod refers to is settled once it has a node."""
    status = pod.get("status") or {}
    return (
        pod["metadata"].get("uid", ""),
        len(spec.get("ephemeralContainers") or ()),
        status.get("resourceClaimStatuses"),
        status.get("extendedResourceClaimStatus"),
    )


def _secrets_of_volume(spec: Obj, claim_namespace: str) -> Iterable[Reference]:
    """Only those that a node reads; others are the controllers'."""
    azure = spec.get("azureFile") or {}
    if azure.get("secretName"):
        yield "secrets", azure.get("secretNamespace") or claim_namespace, azure["secretName"]
    named = [get(spec, (kind, "secretRef")) for kind in VOLUMES_WITH_SECRETS]
    named += [get(spec, ("csi", field)) for field in _CSI_SECRETS]
    for reference in named:
        if reference and reference.get("name"):
            yield "secrets", reference.get("namespace") or claim_namespace, reference["name"]
