"""How fields of an object are owned: a Node seen with the eyes of server-side apply.

A position is owned as one (a scalar, an atomic list or map), field by field (a granular object or map), or element by element
(a list with keys, or a set). What has no schema is deduced: its maps are granular, its lists and scalars are owned as one.
"""

from typing import Any

from tiphys.machinery.patch.fieldset import LEAF, FieldSet, key_element, order, value_element
from tiphys.machinery.patch.presence import always_there
from tiphys.machinery.schema import Node

WHOLE, GRANULAR, KEYED, SET, DEDUCED = range(5)

# The one default of a list key among the built-in kinds; OpenAPI v2, where the schemas come from, does not tell it.
_KEY_DEFAULTS = {
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
}
_MISSING = object()
_REMEMBERED = 1024


class _Emptied:
    """What is left of a map or list that lost everything to a removal: null to the comparison, nothing in the result."""

    def __bool__(self) -> bool:
        return False


EMPTIED: Any = _Emptied()


class BadElementError(ValueError):
    """An element of a list that its keys cannot name."""


class Shape:
    """Compiled once a node, and kept by it."""

    __slots__ = ("_named", "defaults", "elements", "fields", "keys", "kind", "node", "present")

    def __init__(self, node: Node, kind: int) -> None:
        self.node = node
        self.kind = kind
        self.fields: dict[str, tuple[str, Shape]] = {}
        """Of a granular object: its declared fields, each with its path element."""
        self.elements: Shape | None = None
        """What a map, a list or an object with unknown fields holds; None: undeclared fields are an error."""
        self.present: dict[str, Any] = {}
        """Fields that are there even when absent; see `presence`."""
        self.keys: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}
        self._named: dict[str, str] = {}

    def child(self, name: str) -> tuple[str, "Shape"]:
        """The path element and the shape of a field. What the schema does not know is deduced."""
        known = self.fields.get(name)
        return known if known is not None else ("f:" + name, self.elements or DEDUCED_SHAPE)

    def element(self, item: Any) -> str:
        """The path element of an element of a list. Raises BadElementError."""
        if self.kind == SET:
            if isinstance(item, (dict, list)) or item is None:
                raise BadElementError(_NOT_IN_A_SET[type(item)])
            return value_element(item, type(item).__name__)
        if not isinstance(item, dict):
            what = "a null element" if item is None else "non-map elements"
            raise BadElementError(f"associative list with keys may not have {what}")
        keys = self.keys
        if len(keys) == 1:
            value = item.get(keys[0], _MISSING)
            if type(value) is str:
                known = self._named.get(value)
                if known is not None:
                    return known
                if len(self._named) >= _REMEMBERED:
                    self._named.clear()
                known = self._named[value] = key_element(keys, (value,), "str")
                return known
            if value is not _MISSING and type(value) not in _CONTAINERS:
                return key_element(keys, (value,), type(value).__name__)
        return self._element_of_many(item)

    def _element_of_many(self, item: dict[str, Any]) -> str:
        names: list[str] = []
        values: list[Any] = []
        for name in self.keys:
            value = item.get(name, _MISSING)
            if value is _MISSING:
                value = self.defaults.get(name)
                if value is None:
                    continue
            elif type(value) in _CONTAINERS:
                raise BadElementError(f"key {name} may not be a list or a map")
            names.append(name)
            values.append(value)
        if not names:
            told = " ".join(f'"{name}"' for name in self.node.list_keys or self.keys)
            raise BadElementError(
                f"associative list with keys has an element that omits all key fields [{told}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_element(tuple(names), tuple(values), tuple(type(value).__name__ for value in values))


_CONTAINERS = frozenset((dict, list))
_NOT_IN_A_SET = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
    type(None): "associative list without keys has an element that's an explicit null",
}

_DEDUCED_NODE = Node("any")
DEDUCED_SHAPE = Shape(_DEDUCED_NODE, DEDUCED)
_DEDUCED_NODE.shape = DEDUCED_SHAPE


def shape_of(node: Node) -> Shape:
    shape: Shape | None = node.shape
    return shape if shape is not None else _compile(node)


def _compile(node: Node) -> Shape:
    shape = Shape(node, _kind(node))
    # Entered before it is filled in: definitions refer to themselves.
    node.shape = shape
    if shape.kind == GRANULAR:
        shape.fields = {name: ("f:" + name, shape_of(below)) for name, below in node.fields.items()}
        if node.type == "map" and node.items is not None:
            shape.elements = shape_of(node.items)
        elif node.preserve_unknown:
            shape.elements = DEDUCED_SHAPE
        if node.definition:
            shape.present = {name: value for name, value in always_there(node.definition).items() if name in node.fields}
    elif shape.kind in (KEYED, SET) and node.items is not None:
        shape.elements = shape_of(node.items)
        # Path elements name the keys in order.
        shape.keys = tuple(sorted(node.list_keys or ((node.merge_key,) if node.merge_key else ())))
        shape.defaults = dict(_KEY_DEFAULTS.get(node.items.definition, {}))
        for key in shape.keys:
            field = node.items.fields.get(key)
            if field is not None and field.has_default:
                shape.defaults[key] = field.default
    return shape


def _kind(node: Node) -> int:
    if node.type == "any":
        return WHOLE if node.format in ("raw", "int-or-string") else DEDUCED
    if node.type in ("object", "map"):
        if node.atomic:
            return WHOLE
        if node.type == "object" and not node.fields:
            return DEDUCED
        return GRANULAR
    if node.type == "list" and node.items is not None:
        if node.list_type == "map":
            return KEYED
        if node.list_type == "set":
            return SET
        if not node.list_type and "merge" in node.patch_strategies:
            return KEYED if node.merge_key else SET
    return WHOLE


def whole(shape: Shape, value: Any) -> FieldSet:
    """Everything at and below a value, itself included: what is owned when it appears or given up when it goes."""
    kind = shape.kind
    if type(value) is dict:
        if kind in (GRANULAR, DEDUCED) and (value or shape.present):
            return _whole_fields(shape, value)
    elif type(value) is list and value and kind in (KEYED, SET):
        return _whole_elements(shape, value)
    return LEAF


def _whole_fields(shape: Shape, value: dict[str, Any]) -> FieldSet:
    out: FieldSet = {".": LEAF}
    present = shape.present
    if present and not present.keys() <= value.keys():
        value = {**present, **value}
    fields = shape.fields
    for name in sorted(value):
        known = fields.get(name)
        if known is None:
            known = shape.child(name)
        label, below = known
        out[label] = LEAF if below.kind == WHOLE else whole(below, value[name])
    return out


def _whole_elements(shape: Shape, items: list[Any]) -> FieldSet:
    out: FieldSet = {".": LEAF}
    elements = shape.elements or DEDUCED_SHAPE
    for item in items:
        element = shape.element(item)
        # What stands twice is owned as one.
        out[element] = LEAF if element in out else whole(elements, item)
    return sorted_level(out)


def sorted_level(level: FieldSet) -> FieldSet:
    if len(level) < 3 and (len(level) < 2 or "." in level):
        return level
    return {element: level[element] for element in sorted(level, key=order)}


def fields_of(shape: Shape, value: Any) -> FieldSet:
    """What an applied configuration claims: its leaves, the elements of its lists, the entries of its maps."""
    out = _claimed(shape, value)
    out.pop(".", None)
    return out


def _claimed(shape: Shape, value: Any) -> FieldSet:
    """Holds `.` where the position itself is claimed; what is claimed below is there in any case."""
    kind = shape.kind
    if type(value) is dict and kind in (GRANULAR, DEDUCED):
        out: FieldSet = {}
        for name in sorted(value):
            label, below = shape.child(name)
            each = value[name]
            claim = _claimed(below, each)
            if each is None or each is EMPTIED or each == {} or name not in shape.fields:
                claim = {".": LEAF, **claim}
            if claim:
                out[label] = claim if len(claim) > 1 or "." not in claim else LEAF
        return out
    if type(value) is list and kind in (KEYED, SET):
        return _claimed_elements(shape, value)
    if (value is None or value is EMPTIED) and kind in (GRANULAR, KEYED, SET):
        return {}
    return {".": LEAF}


def _claimed_elements(shape: Shape, items: list[Any]) -> FieldSet:
    out: FieldSet = {}
    elements = shape.elements or DEDUCED_SHAPE
    for item in items:
        element = shape.element(item)
        if element in out:
            out[element] = LEAF
            continue
        claim = _claimed(elements, item)
        claim.pop(".", None)
        out[element] = {".": LEAF, **claim} if claim else LEAF
    return sorted_level(out)


def with_named_fields(fields: FieldSet, shape: Shape) -> FieldSet:
    """`fields` and, as members, all declared fields on the way to its members."""
    out: FieldSet = {}
    for element, below in fields.items():
        if not below:
            out[element] = below
            continue
        if element[0] == "f":
            name = element[2:]
            declared = name in shape.fields
            child = shape.child(name)[1] if shape.kind in (GRANULAR, DEDUCED) else DEDUCED_SHAPE
        else:
            declared = False
            child = (shape.elements or DEDUCED_SHAPE) if element[0] == "k" else DEDUCED_SHAPE
        deeper = with_named_fields(below, child)
        out[element] = {".": LEAF, **deeper} if declared and "." not in deeper else deeper
    return out


def adapted(fields: FieldSet, shape: Shape) -> FieldSet:
    """`fields` where the schema has turned a granular list or map into an atomic one: its owner now owns the whole of it."""
    out: FieldSet | None = None
    for element, below in fields.items():
        if not below:
            continue
        if element[0] == "f":
            child = shape.child(element[2:])[1]
        elif element[0] == "k" and shape.elements is not None:
            child = shape.elements
        else:
            continue
        if child.kind == WHOLE:
            new = LEAF if child.node.type in ("object", "map", "list") else below
        else:
            new = below if child.kind == DEDUCED else adapted(below, child)
        if new is not below:
            out = dict(fields) if out is None else out
            out[element] = new
    return fields if out is None else out
