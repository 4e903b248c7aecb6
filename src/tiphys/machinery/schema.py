"""A schema as the rest of the machinery wants it: OpenAPI compiled once into a tree of small nodes.

Decoding, pruning, strategic merge, server-side apply, explain and validation of custom resources all walk `Node`s. Nodes of
built-in kinds are compiled, lazily and once a definition, from the published OpenAPI definitions; those of a
CustomResourceDefinition from its structural schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Type = Literal["object", "map", "list", "string", "integer", "number", "boolean", "any"]
ListType = Literal["", "atomic", "set", "map"]

_REF = "#/$defs/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."

# Definitions that are one value in JSON although OpenAPI describes them loosely.
_SCALARS: dict[str, tuple[Type, str]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("string", "quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("string", "int-or-string"),
    _META + "Time": ("string", "date-time"),
    _META + "MicroTime": ("string", "micro-time"),
    _META + "Duration": ("string", "duration"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("any", "raw"),
    _META + "FieldsV1": ("any", ""),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": ("any", ""),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": ("any", ""),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": ("any", ""),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": ("any", ""),
}


@dataclass(slots=True)
class Node:
    """One position in an object. Never changed once compiled."""

    type: Type
    format: str = ""
    """quantity, int-or-string, date-time, micro-time, duration, byte, int32, int64, raw, ..."""
    definition: str = ""
    """Name of the definition, where the node stands for one: `io.k8s.api.core.v1.Container`."""
    fields: dict[str, "Node"] = field(default_factory=dict)
    """Of an object: its fields."""
    items: "Node | None" = None
    """Of a list or a map: what it holds."""
    required: frozenset[str] = frozenset()
    list_type: ListType = ""
    list_keys: tuple[str, ...] = ()
    atomic: bool = False
    """A map or object that one manager owns as a whole (x-kubernetes-map-type: atomic)."""
    merge_key: str = ""
    """x-kubernetes-patch-merge-key, for strategic merge."""
    patch_strategies: frozenset[str] = frozenset()
    """merge, replace, retainKeys (x-kubernetes-patch-strategy)."""
    preserve_unknown: bool = False
    embedded: bool = False
    nullable: bool = False
    default: Any = None
    has_default: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The OpenAPI (or structural) schema it was compiled from: description, enum, bounds, x-kubernetes-validations."""
    shape: Any = field(default=None, repr=False, compare=False)
    """What field tracking (machinery/patch) made of the node; kept here so that it lives exactly as long."""


class Schemas:
    """The definitions of the built-in kinds, compiled on first use."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions = definitions
        self._compiled: dict[str, Node] = {}

    def node(self, definition: str) -> Node:
        found = self._compiled.get(definition)
        if found is None:
            found = self._compiled[definition] = Node("object", definition=definition)
            # Entered before it is filled in: definitions refer to themselves (JSONSchemaProps does).
            self._fill(found, self.definitions[definition])
        return found

    def _fill(self, node: Node, source: Mapping[str, Any]) -> None:
        node.raw = source
        if node.definition in _SCALARS:
            node.type, node.format = _SCALARS[node.definition]
            return
        node.required = frozenset(source.get("required", ()))
        node.atomic = source.get("x-kubernetes-map-type") == "atomic"
        node.preserve_unknown = bool(source.get("x-kubernetes-preserve-unknown-fields"))
        node.type = _type_of(source)
        node.format = source.get("format", "")
        if node.type == "object":
            node.fields = {name: self._compile(each) for name, each in source.get("properties", {}).items()}
        elif node.type == "map":
            node.items = self._compile(source["additionalProperties"])
        elif node.type == "list":
            node.items = self._compile(source["items"])

    def _compile(self, source: Mapping[str, Any]) -> Node:
        """The node of a field; what the field itself says (list type, merge key) goes over what its definition says."""
        reference = source.get("$ref")
        if reference is None:
            node = Node("any")
            self._fill(node, source)
        else:
            target = self.node(reference.removeprefix(_REF))
            if not any(name.startswith("x-kubernetes-") or name == "default" for name in source):
                return target
            node = _alias(target)
        node.list_type = source.get("x-kubernetes-list-type", node.list_type)
        node.list_keys = tuple(source.get("x-kubernetes-list-map-keys", ()))
        node.merge_key = source.get("x-kubernetes-patch-merge-key", "")
        node.patch_strategies = frozenset(filter(None, source.get("x-kubernetes-patch-strategy", "").split(",")))
        if "x-kubernetes-map-type" in source:
            # The field has the last word: a persistent volume's claimRef is granular although references are atomic.
            node.atomic = source["x-kubernetes-map-type"] == "atomic"
        return node


def _type_of(source: Mapping[str, Any]) -> Type:
    said = source.get("type")
    types = [said] if isinstance(said, str) else [each for each in said or () if each != "null"]
    if "array" in types:
        return "list"
    if "object" in types or "properties" in source:
        # An object without named fields and without a value type (RawExtension's kin) may hold anything.
        if "properties" in source:
            return "object"
        return "map" if isinstance(source.get("additionalProperties"), dict) else "any"
    if types:
        return cast(Type, types[0])
    return "any"


def _alias(target: Node) -> Node:
    """A node that shares what `target` holds; its own list and patch hints may differ."""
    return Node(
        target.type,
        target.format,
        target.definition,
        target.fields,
        target.items,
        target.required,
        target.list_type,
        target.list_keys,
        target.atomic,
        preserve_unknown=target.preserve_unknown,
        raw=target.raw,
    )
