"""The OpenAPI v2 document as protobuf, the only form that kubectl takes it in. Core.

The messages are those of github.com/google/gnostic-models, openapiv2/OpenAPIv2.proto; a table holds the numbers of the fields
that occur here. Values of any type, and extensions (`x-...`), travel as YAML text, of which JSON is a part.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from tiphys.machinery.tree import Obj

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ACCEPTED = (MEDIA, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

Write = Callable[[int, Any], bytes]
"""Field number and value to bytes."""


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _data(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, value: str) -> bytes:
    return _data(number, value.encode())


def _texts(number: int, values: list[str]) -> bytes:
    return b"".join(_text(number, each) for each in values)


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + _varint(value)


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _real(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    return _data(number, _text(2, orjson.dumps(value).decode() + "\n"))


def _anys(number: int, values: list[Any]) -> bytes:
    return b"".join(_any(number, each) for each in values)


def _message(encode: Callable[[Any], bytes]) -> Write:
    return lambda number, value: _data(number, encode(value))


def _messages(encode: Callable[[Any], bytes]) -> Write:
    return lambda number, values: b"".join(_data(number, encode(each)) for each in values)


def _named(encode: Callable[[Any], bytes], field: int = 1) -> Callable[[Mapping[str, Any]], bytes]:
    """A map: a message with one repeated field of names and values."""

    def written(values: Mapping[str, Any]) -> bytes:
        return b"".join(_data(field, _text(1, name) + _data(2, encode(value))) for name, value in values.items())

    return written


def _encode(table: Mapping[str, tuple[int, Write]], extensions: int, value: Obj) -> bytes:
    parts = []
    for key, each in value.items():
        if key in table:
            number, write = table[key]
            parts.append(write(number, each))
        elif key.startswith("x-"):
            parts.append(_data(extensions, _text(1, key) + _any(2, each)))
    return b"".join(parts)


def _schema(value: Obj) -> bytes:
    return _encode(_SCHEMA, 31, value)


def _additional(value: Any) -> bytes:
    return _flag(2, value) if isinstance(value, bool) else _data(1, _schema(value))


def _type(value: str | list[str]) -> bytes:
    return _texts(1, [value] if isinstance(value, str) else value)


_SCHEMA: dict[str, tuple[int, Write]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _real),
    "maximum": (7, _real),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _real),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _whole),
    "minLength": (12, _whole),
    "pattern": (13, _text),
    "maxItems": (14, _whole),
    "minItems": (15, _whole),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _whole),
    "minProperties": (18, _whole),
    "required": (19, _texts),
    "enum": (20, _anys),
    "additionalProperties": (21, _message(_additional)),
    "type": (22, _message(_type)),
    "items": (23, _message(lambda value: _data(1, _schema(value)))),
    "allOf": (24, _messages(_schema)),
    "properties": (25, _message(_named(_schema))),
}


_BODY: dict[str, tuple[int, Write]] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _message(_schema)),
}
_PATH: dict[str, tuple[int, Write]] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": (19, _flag),
}
# A query's parameter also says whether it may be empty, which moves the rest.
_QUERY: dict[str, tuple[int, Write]] = {**_PATH, "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _flag)}


def _parameter(value: Obj) -> bytes:
    if "$ref" in value:
        return _data(2, _text(1, value["$ref"]))
    if value["in"] == "body":
        return _data(1, _data(1, _encode(_BODY, 6, value)))
    if value["in"] == "query":
        return _data(1, _data(2, _data(3, _encode(_QUERY, 23, value))))
    return _data(1, _data(2, _data(4, _encode(_PATH, 22, value))))


_RESPONSE: dict[str, tuple[int, Write]] = {
    "description": (1, _text),
    "schema": (2, _message(lambda value: _data(1, _schema(value)))),
}
_OPERATION: dict[str, tuple[int, Write]] = {
    "tags": (1, _texts),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _messages(_parameter)),
    "responses": (9, _message(_named(lambda value: _data(1, _encode(_RESPONSE, 5, value))))),
    "schemes": (10, _texts),
    "deprecated": (11, _flag),
}
_operation = _message(lambda value: _encode(_OPERATION, 13, value))
_PATH_ITEM: dict[str, tuple[int, Write]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "options": (6, _operation),
    "head": (7, _operation),
    "patch": (8, _operation),
    "parameters": (9, _messages(_parameter)),
}
_INFO: dict[str, tuple[int, Write]] = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}
_API_KEY: dict[str, tuple[int, Write]] = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}
_DOCUMENT: dict[str, tuple[int, Write]] = {
    "swagger": (1, _text),
    "info": (2, _message(lambda value: _encode(_INFO, 7, value))),
    "paths": (8, _message(_named(lambda value: _encode(_PATH_ITEM, 10, value), field=2))),
    "definitions": (9, _message(_named(_schema))),
    "security": (12, _messages(_named(lambda values: _texts(1, values)))),
    "securityDefinitions": (13, _message(_named(lambda value: _data(2, _encode(_API_KEY, 5, value))))),
}


def document(tree: Obj) -> bytes:
    """The whole of /openapi/v2."""
    return _encode(_DOCUMENT, 16, tree)
