"""The OpenAPI documents, from the catalogue and the published definitions. Core."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from tiphys import KUBERNETES_VERSION
from tiphys.api.kind import Kind
from tiphys.apiserver.catalogue import Catalogue, Served
from tiphys.apiserver.openapi import custom
from tiphys.apiserver.openapi.operations import META, SCALE, Operations, list_schema
from tiphys.apiserver.openapi.schemas import Spelling, closure
from tiphys.machinery import errors
from tiphys.machinery.tree import Obj

_ALWAYS = (META + "DeleteOptions", META + "Status", META + "Patch", META + "WatchEvent", META + "APIResourceList")

_SUBRESOURCES = {
    "token": "io.k8s.api.authentication.v1.TokenRequest",
    "eviction": "io.k8s.api.policy.v1.Eviction",
    "binding": "io.k8s.api.core.v1.Binding",
}


class OpenApi:
    def __init__(self, catalogue: Catalogue, definitions: Mapping[str, Any]) -> None:
        self._catalogue = catalogue
        self._definitions = definitions

    def v2(self) -> Obj:
        spelling = Spelling("#/definitions/", wrap_references=False)
        operations = Operations("#/definitions/", v3=False)
        served = list(self._catalogue)
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
            "paths": self._paths(operations, served),
            "definitions": self._schemas(spelling, served, v3=False),
            "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
            "security": [{"BearerToken": []}],
        }

    def v3_index(self) -> Obj:
        roots = dict.fromkeys(_root(served.kind) for served in self._catalogue)
        # The hash lets clients cache a document for good; it changes when what is served there does.
        return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}?hash={self.hash_of(root)}"} for root in roots}}

    def has_v3(self, root: str) -> bool:
        return any(_root(each.kind) == root for each in self._catalogue)

    def hash_of(self, root: str) -> str:
        served = sorted(each.kind.plural for each in self._catalogue if _root(each.kind) == root)
        custom = [str(each.node.raw) for each in self._catalogue if each.custom and _root(each.kind) == root]
        return hashlib.sha512("\n".join([KUBERNETES_VERSION, *served, *custom]).encode()).hexdigest().upper()

    def v3(self, root: str) -> Obj:
        served = [each for each in self._catalogue if _root(each.kind) == root]
        if not served:
            raise errors.no_such_path()
        prefix = "#/components/schemas/"
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
            "paths": self._paths(Operations(prefix, v3=True), served),
            "components": {
                "schemas": self._schemas(Spelling(prefix, wrap_references=True), served, v3=True),
                "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
            },
        }

    def _paths(self, operations: Operations, served: list[Served]) -> Obj:
        return {path: methods for each in served for path, methods in operations.paths(each.kind)}

    def _schemas(self, spelling: Spelling, served: list[Served], *, v3: bool) -> Obj:
        roots = [name for each in served for name in _roots(each.kind)]
        names = closure(self._definitions, [*roots, *_ALWAYS])
        made = {name: spelling.definition(name, self._definitions[name]) for name in names}
        spell = custom.CustomSpelling(spelling, v3=v3)
        for each in served:
            if each.custom:
                made[each.kind.schema] = spell.definition(each.kind, each.node.raw)
                made[list_schema(each.kind)] = spell.list_definition(each.kind)
        return made


def _root(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _roots(kind: Kind) -> Iterable[str]:
    """The definitions that requests about a kind and its subresources mention."""
    yield kind.schema
    yield list_schema(kind)
    if kind.custom:
        yield from custom.ROOTS
    if kind.scale is not None:
        yield SCALE
    for name in kind.subresources:
        if name in _SUBRESOURCES:
            yield _SUBRESOURCES[name]
