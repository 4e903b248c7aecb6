"""Does an applied configuration fit its schema? Server-side apply refuses what it cannot place, in upstream's words."""

from typing import Any

from tiphys.machinery.patch.fieldset import element_path
from tiphys.machinery.patch.go import go_quote, go_text, go_type
from tiphys.machinery.patch.shape import KEYED, SET, BadElementError, Shape, shape_of
from tiphys.machinery.schema import Node

_At = tuple[Any, str] | None
"""A position: the one above it and the path element down to it. It is only spelled out for what is wrong."""


def problems(shape: Shape, value: Any, allow_duplicates: bool = False) -> str:
    """What is wrong with a configuration, as upstream tells it; empty when it fits."""
    found: list[str] = []
    _check(shape, value, None, allow_duplicates, found)
    if len(found) < 2:
        return "".join(found)
    return "\n".join(["errors:", *("  " + each for each in found)])


def _check(shape: Shape, value: Any, at: _At, allow_duplicates: bool, found: list[str]) -> None:
    node = shape.node
    if value is None or node.type == "any":
        return
    if node.type in ("object", "map"):
        if isinstance(value, dict):
            _check_fields(shape, value, at, allow_duplicates, found)
        else:
            _say(at, f"expected map, got &{{{go_text(value)}}}", found)
    elif node.type == "list":
        if isinstance(value, list):
            _check_elements(shape, value, at, allow_duplicates, found)
        else:
            _say(at, f"expected list, got &{{{go_text(value)}}}", found)
    else:
        wrong = _scalar_problem(node, value)
        if wrong:
            _say(at, wrong, found)


def _say(at: _At, message: str, found: list[str]) -> None:
    steps: list[str] = []
    while at is not None:
        at, element = at
        steps.append(element_path(element))
    found.append(f"{''.join(reversed(steps))}: {message}" if steps else message)


def _check_fields(shape: Shape, value: dict[str, Any], at: _At, allow_duplicates: bool, found: list[str]) -> None:
    node = shape.node
    for name, each in value.items():
        below = node.fields.get(name)
        if below is None:
            if node.type == "object" and node.fields and not node.preserve_unknown:
                _say((at, "f:" + name), "field not declared in schema", found)
                return
            below = node.items if node.type == "map" else None
        if below is not None:
            _check(shape_of(below), each, (at, "f:" + name), allow_duplicates, found)


def _check_elements(shape: Shape, items: list[Any], at: _At, allow_duplicates: bool, found: list[str]) -> None:
    if shape.node.items is None:
        return
    elements = shape_of(shape.node.items)
    seen: set[str] = set()
    for position, item in enumerate(items):
        if shape.kind not in (KEYED, SET):
            _check(elements, item, (at, f"i:{position}"), allow_duplicates, found)
            continue
        try:
            element = shape.element(item)
        except BadElementError as error:
            _say(at, f"element {position}: {error}", found)
            return
        if element in seen and not allow_duplicates:
            _say(at, f"duplicate entries for key {element_path(element)}", found)
        seen.add(element)
        _check(elements, item, (at, element), allow_duplicates, found)


def _scalar_problem(node: Node, value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if node.type in ("integer", "number"):
        if not is_number:
            return f"expected numeric (int or float), got {go_type(value)}"
    elif node.type == "boolean":
        if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
    elif node.type == "string":
        if node.format and node.format != "byte":
            # Anything with a format of its own may be any scalar.
            if isinstance(value, (dict, list)):
                return f"expected any scalar, got &{{{go_text(value)}}}"
        elif not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return ""


def _go_syntax(value: Any) -> str:
    """%#v, as far as configurations can be."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_go_syntax(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    return go_text(value)
