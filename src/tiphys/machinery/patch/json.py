"""JSON patch (RFC 6902), with the liberties that upstream's library takes.

Upstream replaces absent object members instead of refusing to, lets negative indices count from the end, and takes an absent
member for null in a `test`. What goes wrong while a patch is applied is told to the client without any detail.
"""

from typing import Any

from tiphys.machinery.errors import ApiError, Details, bad_request, request_entity_too_large
from tiphys.machinery.tree import Obj, copy

MAX_OPERATIONS = 10_000

_REFUSED = "the server rejected our request due to an error in our request"
GO_KINDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
"""What Go's JSON decoder calls a value."""

_MEMBERS = frozenset(("op", "path", "from", "value"))
_MISSING = object()


def refused() -> ApiError:
    """The answer to a patch that is well-formed and does not apply: upstream keeps the reason to itself."""
    return ApiError(422, "Invalid", _REFUSED, Details())


class _DoesNotApplyError(Exception):
    """An operation that cannot be done on the document as it stands."""


def apply(tree: Obj, ops: Any, *, lenient: bool = False) -> Any:
    """`tree` after the operations of a decoded JSON patch; neither argument is changed.

    `lenient` is for fieldValidation=Ignore, where upstream looks less closely at the form of the patch. The result may be an
    array, when an operation replaces the whole document. Raises ApiError: 400 for something that is not a list of operations,
    413 for more than 10 000 of them, 422 for a patch that does not apply (a failed `test` included).
    """
    _check_form(ops, lenient)
    document = _Document(tree)
    try:
        for op in ops or ():
            document.do(op)
    except _DoesNotApplyError:
        raise refused() from None
    return document.root


def strict_problems(ops: list[Any]) -> list[str]:
    """What fieldValidation=Warn or Strict has to say about a patch that `apply` accepts: members that no operation has."""
    return [
        f'json patch unknown field "[{position}].{name}"'
        for position, op in enumerate(ops or ())
        if op
        for name in op
        if name not in _MEMBERS
    ]


def _check_form(ops: Any, lenient: bool) -> None:
    if ops is None:
        return
    if not isinstance(ops, list):
        raise _undecodable(ops, "Go value of type " + ("jsonpatch.Patch" if lenient else "[]handlers.jsonPatchOp"), lenient)
    for position, op in enumerate(ops):
        if not isinstance(op, dict) and op is not None:
            into = f"Patch.{position} of type jsonpatch.Operation" if lenient else "Go value of type handlers.jsonPatchOp"
            raise _undecodable(op, into, lenient)
        for key in () if lenient else ("op", "path", "from"):
            value = (op or {}).get(key)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"Go struct field jsonPatchOp.{key} of type string", lenient)
    if len(ops) > MAX_OPERATIONS:
        raise request_entity_too_large(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(ops)}")


def _undecodable(value: Any, into: str, lenient: bool) -> ApiError:
    told = f"json: cannot unmarshal {GO_KINDS.get(type(value), 'value')} into {into}"
    return bad_request(told if lenient else "error decoding patch: " + told)


class _Document:
    """A tree under change. A container is copied when it is first changed, and only then."""

    def __init__(self, root: Any) -> None:
        self.root = root
        # Keeps the copies alive too: an id is only meaningful while its owner lives.
        self._own: dict[int, Any] = {}

    def do(self, op: Obj | None) -> None:
        op = op or {}
        kind = op.get("op")
        if kind == "add":
            self._add(_pointer(op, "path"), op.get("value"))
        elif kind == "remove":
            self._remove(_pointer(op, "path"))
        elif kind == "replace":
            self._replace(_pointer(op, "path"), op.get("value"))
        elif kind == "move":
            source = _pointer(op, "from")
            value = _look(self._parent(source), source[-1])
            self._remove(source)
            self._add(_pointer(op, "path"), value)
        elif kind == "copy":
            source = _pointer(op, "from")
            value = _look(self._parent(source), source[-1])
            self._add(_pointer(op, "path"), copy(value))
        elif kind == "test":
            self._test(_pointer(op, "path"), op.get("value"))
        else:
            raise _DoesNotApplyError

    def _add(self, at: list[str], value: Any) -> None:
        container = self._parent(at, own=True)
        if isinstance(container, dict):
            container[at[-1]] = value
        elif at[-1] == "-":
            container.append(value)
        else:
            container.insert(_index(at[-1], len(container) + 1), value)

    def _remove(self, at: list[str]) -> None:
        container = self._parent(at, own=True)
        if isinstance(container, dict):
            if container.pop(at[-1], _MISSING) is _MISSING:
                raise _DoesNotApplyError
        else:
            del container[_index(at[-1], len(container))]

    def _replace(self, at: list[str], value: Any) -> None:
        if not at:
            if not isinstance(value, (dict, list)):
                raise _DoesNotApplyError
            self.root = value
            return
        container = self._parent(at, own=True)
        if isinstance(container, dict):
            container[at[-1]] = value
        else:
            container[_index(at[-1], len(container))] = value

    def _test(self, at: list[str], value: Any) -> None:
        found = _look(self._parent(at), at[-1]) if at else self.root
        if not same(found, value):
            raise _DoesNotApplyError

    def _parent(self, at: list[str], own: bool = False) -> Any:
        """The container that holds the last step of `at`; with `own`, one that may be changed."""
        if not at:
            raise _DoesNotApplyError
        here = self._owned(self.root) if own else self.root
        if own:
            self.root = here
        for step in at[:-1]:
            below = _look(here, step)
            if own:
                below = self._owned(below)
                here[step if isinstance(here, dict) else _index(step, len(here))] = below
            here = below
        if not isinstance(here, (dict, list)):
            raise _DoesNotApplyError
        return here

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        if isinstance(container, dict):
            fresh: Any = dict(container)
        elif isinstance(container, list):
            fresh = list(container)
        else:
            raise _DoesNotApplyError
        self._own[id(fresh)] = fresh
        return fresh


def _pointer(op: Obj, key: str) -> list[str]:
    """The steps of a JSON pointer; none for the whole document."""
    text = op.get(key)
    if not isinstance(text, str):
        raise _DoesNotApplyError
    if not text:
        return []
    steps = text.split("/")[1:]
    if not steps:
        raise _DoesNotApplyError
    if "~" in text:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in steps]
    return list(steps)


def _look(container: Any, step: str) -> Any:
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list):
        return container[_index(step, len(container))]
    raise _DoesNotApplyError


def _index(step: str, length: int) -> int:
    digits = step[1:] if step[:1] in ("+", "-") else step
    if not (digits.isascii() and digits.isdigit()):
        raise _DoesNotApplyError
    index = int(step)
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise _DoesNotApplyError
    return index


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values, where 1, 1.0 and true are three different things."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and same(each, other[key]) for key, each in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
