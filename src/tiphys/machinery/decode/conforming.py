"""A tree from a client, made into what a Go struct of its kind would have become and written again.

The walk is compiled, once a schema node, into closures that return the very value they were given where nothing is to be
changed; most of a well-formed object is not copied. What Go would do and JSON does not show: null is the same as absent,
empty lists and maps are absent, zero values are dropped where the struct tag says so and added where Go always writes them.
"""

from collections.abc import Callable
from typing import Any, Final

from tiphys.machinery import field_table
from tiphys.machinery.decode.places import At, Unknown, note, spelled
from tiphys.machinery.decode.problems import Refused, cannot_handle, mismatch
from tiphys.machinery.decode.pruning import pruned
from tiphys.machinery.decode.scalars import DROP, WrongType, scalar
from tiphys.machinery.fields import invalid
from tiphys.machinery.schema import Node
from tiphys.machinery.tree import Obj

Walk = Callable[[Any, At, Unknown], Any]

_PLAIN: Final[dict[str, type]] = {"string": str, "boolean": bool}


def conform(tree: Obj, node: Node, unknown: Unknown) -> Obj:
    """`tree` as upstream would store it; parts that need no change are shared with `tree`, which itself is left alone.

    Unknown fields are dropped, and their paths appended to `unknown` where it is not None. ApiError where the JSON types do not
    fit. A custom resource (a node without a definition) is pruned only: its types are for validation to judge.
    """
    try:
        if not node.definition:
            result: Obj = prune(tree, node, unknown, resource=True)
        else:
            result = _walk_of(node)(tree, None, unknown)
    except Refused as problem:
        wanted = node.definition.rpartition(".")[2] or str(tree.get("kind", ""))
        kind = tree.get("kind") if isinstance(tree.get("kind"), str) else ""
        version = tree.get("apiVersion") if isinstance(tree.get("apiVersion"), str) else ""
        own_version = node.definition.rpartition(".")[0].rpartition(".")[2]
        raise cannot_handle(kind or wanted, version or own_version, wanted, str(problem)) from None
    except RecursionError:
        wanted = node.definition.rpartition(".")[2] or str(tree.get("kind", ""))
        raise cannot_handle(wanted, "", wanted, "exceeded max depth") from None
    return result


def prune(value: Any, node: Node, unknown: Unknown = None, *, resource: bool = False, lenient: bool = False) -> Any:
    """A value of a custom resource, a whole `resource` or not, without what its schema does not know.

    `lenient`: of what is stored already. Metadata that cannot be read stays as it is; of a request it is refused.
    """
    return pruned(value, node, None, unknown, _as_it_is if lenient else _described, resource)


def _described(value: Any, node: Node, at: At, unknown: Unknown) -> Any:
    """What the server itself describes in resources: their metadata, and of embedded ones apiVersion and kind."""
    if node.type == "string":
        if not isinstance(value, str):
            raise Refused(str(invalid(spelled(at), value, "must be a string")))
        return value
    if value is None:
        return {}
    inner: Unknown = None if unknown is None else []
    try:
        if type(value) is not dict:
            raise mismatch(value, go_type_of(node), "", "")
        result = _walk_of(node)(value, None, inner)
    except Refused as problem:
        if at is None or at[0] is None:
            raise
        raise Refused(str(invalid(spelled(at), value, str(problem)))) from None
    if unknown is not None:
        unknown.extend(f"{spelled(at)}.{each}" for each in inner or ())
    return result


def _as_it_is(value: Any, node: Node, at: At, unknown: Unknown) -> Any:
    try:
        return _described(value, node, at, unknown)
    except Refused:
        return value


_walks: dict[int, tuple[Node, "_Struct"]] = {}


def _walk_of(node: Node) -> "_Struct":
    # The node is kept with its walk, so that its identity stays its own.
    found = _walks.get(id(node))
    if found is None:
        found = _walks[id(node)] = (node, _Struct(node))
    return found[1]


class _Embedded(str):
    """The name of a field that Go finds in an embedded struct, which its errors name too."""

    __slots__ = ("go",)

    def __new__(cls, name: str, prefix: str) -> "_Embedded":
        made = super().__new__(cls, name)
        made.go = prefix + name
        return made

    go: str


class _Struct:
    """An object with named fields. Its fields are compiled when the first object arrives: definitions refer to themselves."""

    __slots__ = ("_always", "_fields", "_node", "name")

    def __init__(self, node: Node) -> None:
        self._node = node
        self.name = node.definition.rpartition(".")[2]
        self._fields: dict[str, tuple[type | None, Walk, str]] | None = None
        self._always: tuple[tuple[str, Walk], ...] = ()

    def __call__(self, value: Obj, at: At, unknown: Unknown) -> Obj:
        fields = self._fields
        if fields is None:
            fields = self._compile()
        changes: Obj | None = None
        for name, item in value.items():
            entry = fields.get(name)
            if entry is None:
                if self._node.preserve_unknown:
                    continue
                note(unknown, (at, name))
                new = DROP
            else:
                plain, walk, step = entry
                if type(item) is plain and item:
                    continue
                new = walk(item, (at, step), unknown)
                if new is item:
                    continue
            if changes is None:
                changes = {}
            changes[name] = new
        for name, zero in self._always:
            if name not in value or (changes is not None and changes.get(name) is DROP):
                if changes is None:
                    changes = {}
                changes[name] = zero(None, None, None)
        if changes is None:
            return value
        result = {**value, **changes}
        for name, new in changes.items():
            if new is DROP:
                del result[name]
        return result

    def zero(self) -> Obj:
        """What Go writes of a struct that nobody has set."""
        return self({}, None, None)

    def _compile(self) -> dict[str, tuple[type | None, Walk, str]]:
        facts = field_table.by_name(self._node.definition.removeprefix("io.k8s."))
        fields: dict[str, tuple[type | None, Walk, str]] = {}
        always = []
        for name, node in self._node.fields.items():
            fact = facts.get(name)
            plain = _PLAIN.get(node.type) if not node.format or node.format == "password" else None
            keeps_zero = fact.keeps_zero if fact is not None else name not in _TYPE_META
            step = _Embedded(name, fact.embedded) if fact is not None and fact.embedded else name
            if node.definition.endswith(_OR_ELSE):
                fields[name] = (plain, _schema_or_else(self), step)
                continue
            fields[name] = (plain, _member(node, fact.go if fact is not None else "", self.name, keeps_zero), step)
            if fact is not None and fact.always:
                zero = _zero(node)
                if zero is not None:
                    always.append((name, zero))
        self._always = tuple(always)
        self._fields = fields
        return fields


def _zero(node: Node) -> Walk | None:
    """Makes the zero value of an ordinary field; nothing where Go writes null."""
    if node.type == "object":
        struct = _walk_of(node)
        return lambda _value, _at, _unknown: struct.zero()
    value = _ZEROS.get(node.format) if node.format in _ZEROS else _ZEROS.get(node.type)
    return None if value is None else lambda _value, _at, _unknown: value


_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "quantity": "0",
    "int-or-string": 0,
    "duration": "0s",
    "date-time": None,
    "micro-time": None,
    "byte": None,
    "raw": None,
}


# In a JSON schema: a schema, or else a boolean, or a list of schemas.
_OR_ELSE: Final = ("JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray")


def _schema_or_else(schema: _Struct) -> Walk:
    """Upstream reads these on their own: it drops what it does not know there, and tells nobody."""

    def walk(item: Any, at: At, _unknown: Unknown) -> Any:
        if type(item) is dict:
            return schema(item, at, None)
        if type(item) is list:
            made = [schema(each, at, None) if type(each) is dict else each for each in item]
            return item if all(new is old for new, old in zip(made, item, strict=True)) else made
        return DROP if item is None else item

    return walk


# Every object may have them, and no table mentions them.
_TYPE_META: Final = frozenset(("apiVersion", "kind"))


def _member(node: Node, go_type: str, owner: str, keeps_zero: bool) -> Walk:
    """Of one field: DROP where Go would not write it."""
    go_type = go_type or go_type_of(node)
    walk = _value(node, owner, go_type, keeps_zero)
    if node.type in ("list", "map"):

        def collection(item: Any, at: At, unknown: Unknown) -> Any:
            return walk(item, at, unknown) if item else _empty(item, node.type, at, owner, go_type)

        return collection
    return walk


def _empty(item: Any, kind: str, at: At, owner: str, go_type: str) -> Any:
    if item is None or type(item) is (list if kind == "list" else dict):
        return DROP
    raise mismatch(item, go_type, owner, _go_path(at))


def _value(node: Node, owner: str, go_type: str, keeps_zero: bool) -> Walk:
    match node.type:
        case "object":
            return _object(node, owner, go_type)
        case "list":
            return _list(node, owner, go_type)
        case "map":
            return _map(node, owner, go_type)
        case "any":
            return _anything
    check = scalar(node, go_type, keeps_zero)

    def one(item: Any, at: At, _unknown: Unknown) -> Any:
        try:
            return check(item)
        except WrongType as wrong:
            raise mismatch(item, wrong.go_type or go_type, owner, _go_path(at)) from None
        except ValueError as error:
            raise Refused(str(error)) from None

    return one


def _anything(item: Any, _at: At, _unknown: Unknown) -> Any:
    return DROP if item is None else item


def _object(node: Node, owner: str, go_type: str) -> Walk:
    struct = _walk_of(node)

    def walk(item: Any, at: At, unknown: Unknown) -> Any:
        if type(item) is dict:
            return struct(item, at, unknown)
        if item is None:
            return DROP
        raise mismatch(item, go_type, owner, _go_path(at))

    return walk


def _list(node: Node, owner: str, go_type: str) -> Walk:
    held = node.items or Node("any")
    inner = go_type[2:] if go_type.startswith("[]") else go_type_of(held)
    walk_one = _value(held, owner, inner, True)
    plain = _PLAIN.get(held.type) if not held.format else None
    zero = _zero(held)

    def walk(item: Any, at: At, unknown: Unknown) -> Any:
        if item is None:
            return DROP
        if type(item) is not list:
            raise mismatch(item, go_type, owner, _go_path(at))
        result = None
        for position, each in enumerate(item):
            if type(each) is plain:
                continue
            new = walk_one(each, (at, position), unknown)
            if new is DROP:
                new = zero(None, None, None) if zero is not None else None
            if new is not each:
                if result is None:
                    result = list(item)
                result[position] = new
        return item if result is None else result

    return walk


def _map(node: Node, owner: str, go_type: str) -> Walk:
    held = node.items or Node("any")
    inner = go_type[11:] if go_type.startswith("map[string]") else go_type_of(held)
    walk_one = _value(held, owner, inner, True)
    plain = _PLAIN.get(held.type) if not held.format else None
    zero = _zero(held)
    # Go's zero time is null in JSON, and a map keeps its keys.
    nothing = None if held.format in ("date-time", "micro-time") else _EMPTY.get(held.type, "")

    def walk(item: Any, at: At, unknown: Unknown) -> Any:
        if item is None:
            return DROP
        if type(item) is not dict:
            raise mismatch(item, go_type, owner, _go_path(at))
        result = None
        for key, each in item.items():
            if type(each) is plain:
                continue
            new = walk_one(each, (at, (key,)), unknown)
            if new is DROP:
                new = zero(None, None, None) if zero is not None else nothing
            if new is not each:
                if result is None:
                    result = dict(item)
                result[key] = new
        return item if result is None else result

    return walk


_EMPTY: Final[dict[str, Any]] = {"list": [], "map": {}, "any": None}


def go_type_of(node: Node) -> str:
    """How Go calls the type of a node, where nothing better is known."""
    if node.definition:
        package, _, name = node.definition.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    match node.type:
        case "integer":
            return node.format or "int64"
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case "list":
            return "[]" + go_type_of(node.items or Node("any"))
        case "map":
            return "map[string]" + go_type_of(node.items or Node("any"))
        case "string":
            return "[]uint8" if node.format == "byte" else "string"
    return "interface {}"


def _go_path(at: At) -> str:
    """Go's errors name fields only, neither indexes nor keys."""
    names = []
    while at is not None:
        if isinstance(at[1], str):
            names.append(at[1].go if isinstance(at[1], _Embedded) else at[1])
        at = at[0]
    return ".".join(reversed(names))
