"""How many pods those who run the pods of a budget want together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.kind import Kind
from tiphys.client.interface import Client
from tiphys.controllers import kinds
from tiphys.controllers.controller import Caches
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get

KNOWN = (REPLICATION_CONTROLLERS, REPLICASETS, STATEFULSETS, DEPLOYMENTS)
"""Kinds that are watched anyway."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Who runs the pods, and how many it wants."""

    uid: str
    count: int


@dataclass(frozen=True, slots=True)
class Unwatched:
    """A custom resource that nobody watches for this: the server is asked for its scale."""

    kind: Kind
    namespace: str
    name: str
    uid: str


Scale = Scaled | Unwatched | str | None
"""Text is why nobody can know; None: it is not there."""


def scale_of(reference: Obj, namespace: str, caches: Caches) -> Scale:
    """Of the controller that a pod's reference names; of a ReplicaSet's Deployment, where it has one."""
    group, name = meta.group_of(reference.get("apiVersion", "")), reference.get("kind", "")
    for kind in KNOWN:
        if (kind.group, kind.kind) == (group, name):
            owner = _present(caches, kind, namespace, reference)
            return _counted(_above(owner, caches) if kind is REPLICASETS else owner) if owner is not None else None
    for kind in kinds.built_in():
        if (kind.group, kind.kind) == (group, name):
            return _has_none(kind)
    for definition in caches[CUSTOM_RESOURCE_DEFINITIONS]:
        spec = definition["spec"]
        if (spec["group"], spec["names"]["kind"]) == (group, name):
            custom = kinds.of_definition(definition)
            if custom is not None and _scales(definition, custom.version):
                return Unwatched(custom, namespace, reference["name"], reference["uid"])
            if custom is not None:
                return _has_none(custom)
    return f'no matches for kind "{name}" in version "{reference.get("apiVersion", "")}"'


def _present(caches: Caches, kind: Kind, namespace: str, reference: Obj) -> Obj | None:
    found = caches[kind].get(f"{namespace}/{reference['name']}")
    return found if found is not None and meta.uid(found) == reference["uid"] else None


def _above(replica_set: Obj, caches: Caches) -> Obj:
    reference = meta.controller_of(replica_set)
    if reference is None or reference.get("kind") != DEPLOYMENTS.kind:
        return replica_set
    return _present(caches, DEPLOYMENTS, meta.namespace(replica_set), reference) or replica_set


def _counted(owner: Obj) -> Scaled:
    return Scaled(meta.uid(owner), owner["spec"].get("replicas", 1))


def _has_none(kind: Kind) -> str:
    name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return f"{name} does not implement the scale subresource"


def _scales(definition: Obj, version: str) -> bool:
    return any(
        each["name"] == version and get(each, ("subresources", "scale")) is not None for each in definition["spec"]["versions"]
    )


async def ask(client: Client, arguments: Mapping[str, Any]) -> dict[str, Scaled | None]:
    """The scales of `arguments["owners"]`, by uid."""
    found: dict[str, Scaled | None] = {}
    owner: Unwatched
    for owner in arguments["owners"]:
        try:
            scale = await client.get(owner.kind, owner.name, owner.namespace, subresource="scale")
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            found[owner.uid] = None
            continue
        same = meta.uid(scale) == owner.uid
        found[owner.uid] = Scaled(owner.uid, get(scale, ("spec", "replicas"), 0)) if same else None
    return found
