"""OwnerReferencesPermissionEnforcement: an owner reference can delete its object, and hold up the deletion of its owner; so
whoever sets one must be allowed to do either without it."""

from collections.abc import Iterator
from dataclasses import replace

from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes
from tiphys.apiserver.authz.attributes import Attributes as Question
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.catalogue import Catalogue
from tiphys.machinery.tree import Obj


class OwnerReferencesPermissionEnforcement:
    name = "OwnerReferencesPermissionEnforcement"
    operations = CREATE_UPDATE
    resources = None

    def __init__(self, authorizer: Authorizer, catalogue: Catalogue) -> None:
        self._authorizer = authorizer
        self._catalogue = catalogue

    async def validate(self, attributes: Attributes) -> None:
        kind = attributes.kind
        if attributes.obj is None or (not kind.group and kind.plural == "pods" and attributes.subresource == "status"):
            return
        owners, before = _owners(attributes.obj), _owners(attributes.old)
        if owners == before:
            return
        if attributes.operation != "CREATE":
            await self._check_deletion(attributes)
        blocking = list(_newly_blocking(owners, before))
        if not blocking:
            return
        anything = await self._authorizer.authorize(_finalize_anything(attributes))
        if not anything.allowed:
            for owner in blocking:
                await self._check_blocking(attributes, owner)

    async def _check_deletion(self, attributes: Attributes) -> None:
        kind = attributes.kind
        asked = Question(
            attributes.user,
            "delete",
            kind.group,
            kind.version,
            kind.plural,
            attributes.subresource,
            attributes.namespace,
            attributes.name,
        )
        decision = await self._authorizer.authorize(asked)
        if not decision.allowed:
            raise attributes.forbidden(f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>")

    async def _check_blocking(self, attributes: Attributes, owner: Obj) -> None:
        group, _, version = str(owner.get("apiVersion", "")).rpartition("/")
        served = self._catalogue.by_gvk(group, version, owner.get("kind", ""))
        if served is None:
            raise attributes.forbidden(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion "
                f'{owner.get("apiVersion", "")} Kind {owner.get("kind", "")}: no matches for kind "{owner.get("kind", "")}" '
                f'in version "{owner.get("apiVersion", "")}"'
            )
        kind = served.kind
        asked = replace(
            _finalize_anything(attributes),
            group=kind.group,
            version=kind.version,
            resource=kind.plural,
            name=owner.get("name", ""),
            namespace=attributes.namespace if kind.namespaced else "",
        )
        decision = await self._authorizer.authorize(asked)
        if not decision.allowed:
            raise attributes.forbidden(
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: "
                f"{decision.reason}, <nil>"
            )


def _finalize_anything(attributes: Attributes) -> Question:
    return Question(attributes.user, "update", "*", "*", "*", "finalizers", name="*")


def _owners(obj: Obj | None) -> list[Obj]:
    return (obj["metadata"].get("ownerReferences") or []) if obj is not None else []


def _newly_blocking(owners: list[Obj], before: list[Obj]) -> Iterator[Obj]:
    blocked = {each.get("uid") for each in before if each.get("blockOwnerDeletion")}
    return (each for each in owners if each.get("blockOwnerDeletion") and each.get("uid") not in blocked)
