"""Custom kinds in the OpenAPI documents: their structural schemas, spelled as kubectl understands them. Core.

kubectl takes what a schema of OpenAPI v2 names for all there is, so what may hold more than it says is left open there
(upstream: apiextensions-apiserver/pkg/controller/openapi/builder and v2/conversion.go).
"""

from collections.abc import Mapping
from typing import Any

from tiphys.api.kind import Kind
from tiphys.apiserver.openapi.schemas import Spelling
from tiphys.machinery.tree import Obj

ROOTS = ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
"""The definitions that every custom kind leads to."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_GVK = "x-kubernetes-group-version-kind"
_SELECTABLE = "x-kubernetes-selectable-fields"

_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to "
    "the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint "
    "the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_METADATA = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_LIST_METADATA = (
    "Standard list metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)


_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_EMBEDDED_TYPE = {
    "apiVersion": {
        "type": "string",
        "description": "apiVersion defines the versioned schema of this representation of an object. More info: "
        f"{_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "kind is a string value representing the type of this object. In CamelCase. More info: "
        f"{_CONVENTIONS}#types-kinds",
    },
}


class CustomSpelling:
    """Spells custom kinds for one version of OpenAPI."""

    def __init__(self, spelling: Spelling, *, v3: bool) -> None:
        self._spelling = spelling
        self._v3 = v3

    def definition(self, kind: Kind, source: Mapping[str, Any]) -> Obj:
        if not source or (not self._v3 and source.get(_PRESERVE)):
            made: Obj = {"type": "object"}
        else:
            made = self._schema(source)
            made["properties"] = {**(made.get("properties") or {}), **self._type_meta()}
        made[_GVK] = [self._gvk(kind, kind.kind)]
        return self._selectable(made, kind)

    def list_definition(self, kind: Kind) -> Obj:
        told = f"List of {kind.plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
        properties = {
            "apiVersion": {"type": "string", "description": _API_VERSION},
            "kind": {"type": "string", "description": _KIND},
            "metadata": self._reference(_META + "ListMeta", _LIST_METADATA),
            "items": {"type": "array", "description": told, "items": self._spelling.reference(kind.schema)},
        }
        made = {
            "type": "object",
            "description": f"{kind.list_kind} is a list of {kind.kind}",
            "required": ["items"],
            "properties": properties,
            _GVK: [self._gvk(kind, kind.list_kind)],
        }
        return self._selectable(made, kind)

    @staticmethod
    def _gvk(kind: Kind, name: str) -> Obj:
        return {"group": kind.group, "version": kind.version, "kind": name}

    @staticmethod
    def _selectable(made: Obj, kind: Kind) -> Obj:
        if kind.selectable:
            made[_SELECTABLE] = [{"fieldPath": each} for each in kind.selectable]
        return made

    def _reference(self, definition: str, told: str) -> Obj:
        reference = self._spelling.reference(definition)
        return {"allOf": [reference], "description": told} if self._v3 else {**reference, "description": told}

    def _type_meta(self) -> Obj:
        return {
            "apiVersion": {"type": "string", "description": _API_VERSION},
            "kind": {"type": "string", "description": _KIND},
            "metadata": self._reference(_META + "ObjectMeta", _METADATA),
        }

    def _schema(self, source: Mapping[str, Any]) -> Obj:
        made = {name: value for name, value in source.items() if value is not None}
        for field in ("items", "additionalProperties"):
            if isinstance(made.get(field), dict):
                made[field] = self._schema(made[field])
        if made.get("properties"):
            made["properties"] = {name: self._schema(each) for name, each in made["properties"].items()}
        if not self._v3:
            _simplify(made, source)
        if made.get(_EMBEDDED) and (self._v3 or not made.get(_PRESERVE)):
            made["properties"] = {**(made.get("properties") or {}), **self._type_meta(), **_EMBEDDED_TYPE}
            required = list(made.get("required") or ())
            made["required"] = required + [each for each in ("kind", "apiVersion") if each not in required]
        if self._v3 and made.get(_INT_OR_STRING) and "anyOf" not in made:
            made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        return made


def _simplify(made: Obj, source: Mapping[str, Any]) -> None:
    """What OpenAPI v2, and who reads it, cannot say."""
    for field in (*_JUNCTORS, "default"):
        made.pop(field, None)
    preserves = made.get(_PRESERVE)
    if made.pop("nullable", False):
        made.pop("type", None)
        made.pop("items", None)
        made.pop("properties", None)
    if preserves:
        made.pop("items", None)
        made.pop("properties", None)
    kind = made.get("type")
    if (kind == "array" and "items" not in made) or (preserves and kind == "object"):
        made.pop("type")
    required = made.get("required")
    if required:
        below: Mapping[str, Any] = source.get("properties") or {}
        kept = [name for name in required if not (below.get(name) or {}).get("nullable")]
        values = source.get("additionalProperties")
        made["required"] = [] if isinstance(values, dict) and values.get("nullable") else kept
        if not made["required"]:
            del made["required"]
