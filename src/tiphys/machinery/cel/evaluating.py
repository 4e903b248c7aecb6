"""The value of a tree, given the variables."""

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from tiphys.machinery.cel.functions import NOTHING, Optional, Trouble, call
from tiphys.machinery.cel.parsing import Node, parse

Variables = Mapping[str, Any]
_COMPARING: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_LOOPS = frozenset(("all", "exists", "exists_one", "map", "filter"))


@lru_cache(maxsize=1024)
def compiled(text: str) -> Callable[[Variables], Any]:
    """Raises Unsound; the function raises Trouble."""
    tree = parse(text)
    return lambda variables: value(tree, variables)


def value(node: Node, variables: Variables) -> Any:
    match node.kind:
        case "literal":
            return node.value
        case "name":
            if node.word not in variables:
                raise Trouble(f"undeclared reference to {node.word!r}")
            return variables[node.word]
        case "member":
            return _at(value(node.parts[0], variables), node.word)
        case "optional":
            return _perhaps(value(node.parts[0], variables), node.word)
        case "index":
            return _at(value(node.parts[0], variables), value(node.parts[1], variables))
        case "has":
            return _contains(value(node.parts[0], variables), node.word)
        case "list":
            return [value(each, variables) for each in node.parts]
        case "map":
            flat = [value(each, variables) for each in node.parts]
            return dict(zip(flat[::2], flat[1::2], strict=True))
        case "choice":
            chosen = 1 if _truth(value(node.parts[0], variables)) else 2
            return value(node.parts[chosen], variables)
        case "unary":
            inner = value(node.parts[0], variables)
            return not _truth(inner) if node.word == "!" else _computed(operator.sub, 0, inner)
        case "binary":
            return _binary(node, variables)
    return _called(node, variables)


def _perhaps(container: Any, key: Any) -> Optional:
    """What is there, or nothing."""
    if isinstance(container, Optional):
        return _perhaps(container.value, key) if container.present else NOTHING
    return Optional(True, container[key]) if _contains(container, key) else NOTHING


def _contains(container: Any, key: Any) -> bool:
    if isinstance(container, Optional):
        return container.present and _contains(container.value, key)
    if not isinstance(container, Mapping):
        raise Trouble("no such overload")
    return key in container


def _at(container: Any, key: Any) -> Any:
    if isinstance(container, Optional):
        return _perhaps(container, key)
    try:
        return container[key]
    except KeyError:
        raise Trouble(f"no such key: {key}") from None
    except IndexError:
        raise Trouble(f"index out of bounds: {key}") from None
    except TypeError:
        raise Trouble("no such overload") from None


def _each(among: Any) -> Iterable[Any]:
    if isinstance(among, str) or not isinstance(among, Iterable):
        raise Trouble("no such overload")
    return among


def _truth(found: Any) -> bool:
    if not isinstance(found, bool):
        raise Trouble("no such overload")
    return found


def _binary(node: Node, variables: Variables) -> Any:
    left, right = node.parts
    match node.word:
        case "&&":
            return _either(left, right, variables, decisive=False)
        case "||":
            return _either(left, right, variables, decisive=True)
        case "==":
            return _same(value(left, variables), value(right, variables))
        case "!=":
            return not _same(value(left, variables), value(right, variables))
        case "in":
            found, among = value(left, variables), value(right, variables)
            return any(_same(found, each) for each in _each(among))
        case "/" | "%":
            return _divided(node.word, value(left, variables), value(right, variables))
    return _computed(_COMPARING[node.word], value(left, variables), value(right, variables))


def _either(left: Node, right: Node, variables: Variables, *, decisive: bool) -> bool:
    """Whichever side decides, decides, even if the other is in trouble."""
    try:
        if _truth(value(left, variables)) is decisive:
            return decisive
    except Trouble:
        if _truth(value(right, variables)) is decisive:
            return decisive
        raise
    return _truth(value(right, variables))


def _same(one: Any, other: Any) -> bool:
    """A truth is no number."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _computed(compute: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    try:
        return compute(one, other)
    except TypeError:
        raise Trouble("no such overload") from None


def _divided(sign: str, one: Any, other: Any) -> Any:
    if not other and isinstance(other, int):
        raise Trouble("division by zero" if sign == "/" else "modulus by zero")
    if isinstance(one, float) and sign == "/":
        return one / other if other else one * float("inf")
    # Towards zero.
    whole = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    return whole if sign == "/" else one - whole * other


def _called(node: Node, variables: Variables) -> Any:
    is_method = bool(node.value)
    if is_method and node.word == "bind" and len(node.parts) == 4:
        _, name, bound, inner = node.parts
        return value(inner, {**variables, name.word: value(bound, variables)})
    if is_method and node.word in _LOOPS and len(node.parts) == 3:
        return _looped(node, variables)
    return call(node.word, [value(each, variables) for each in node.parts])


def _looped(node: Node, variables: Variables) -> Any:
    among, name, inner = node.parts
    each_value = ((item, value(inner, {**variables, name.word: item})) for item in _each(value(among, variables)))
    match node.word:
        case "map":
            return [found for _, found in each_value]
        case "filter":
            return [item for item, found in each_value if _truth(found)]
        case "exists_one":
            return sum(_truth(found) for _, found in each_value) == 1
        case "all":
            return all(_truth(found) for _, found in each_value)
    return any(_truth(found) for _, found in each_value)
