"""Paths into a custom resource, `.spec.color` or `.spec['a.b']`, followed through its schema."""

import re

from tiphys.machinery.tree import Obj

# Delimiters and what stands between them; a quoted string is one piece.
_PIECES = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")


def find(path: str, schema: Obj, *, brackets: bool = True) -> tuple[tuple[str, ...], Obj]:
    """The names on the way and the schema at the end. ValueError says, in upstream's words, why there is none."""
    pieces = _PIECES.findall(path)
    names: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if piece == "[":
            if not brackets:
                raise ValueError("array notation is not allowed")
            quoted = _piece(pieces, at + 1)
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise ValueError(f"expected single quoted string but got {quoted}")
            name = re.sub(r"\\(.)", r"\1", quoted[1:-1])
            schema = _below(schema, name)
            if _piece(pieces, at + 2) != "]":
                raise ValueError(f"expected ] but got {pieces[at + 2]}")
            at += 3
        elif piece == ".":
            name = _piece(pieces, at + 1)
            schema = _below(schema, name)
            at += 2
        else:
            raise ValueError(f"expected [ or . but got: {piece}")
        names.append(name)
    return tuple(names), schema


def _piece(pieces: list[str], at: int) -> str:
    if at >= len(pieces):
        raise ValueError("unexpected end of JSON path")
    return pieces[at]


def _below(schema: Obj, name: str) -> Obj:
    properties = schema.get("properties")
    found = properties.get(name) if properties else schema.get("additionalProperties")
    if not isinstance(found, dict):
        raise ValueError("does not refer to a valid field")
    return found
