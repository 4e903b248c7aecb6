"""The OpenAPI v2 document in protobuf: field numbers as in gnostic-models, openapiv2/OpenAPIv2.proto."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.apiserver.openapi import protobuf


def fields(data: bytes) -> list[tuple[int, object]]:
    """What any reader of protobuf sees."""
    found: list[tuple[int, object]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 1:
            found.append((key >> 3, struct.unpack_from("<d", data, at)[0]))
            at += 8
        else:
            assert key & 7 == 2
            length = varint()
            found.append((key >> 3, data[at : at + length]))
            at += length
    return found


def inside(data: bytes, *numbers: int) -> object:
    """The first value at a path of field numbers."""
    value: object = data
    for number in numbers:
        assert isinstance(value, bytes)
        value = next(each for found, each in fields(value) if found == number)
    return value


SCHEMA = {
    "type": "object",
    "description": "d",
    "required": ["a", "b"],
    "maxLength": 300,
    "minimum": 0.5,
    "enum": ["x", 1],
    "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"items": {"type": "string"}}},
    "additionalProperties": False,
    "x-kubernetes-list-type": "map",
}


def schema(**tree) -> bytes:
    whole = protobuf.document({"definitions": {"S": tree}})
    found = inside(whole, 9, 1, 2)
    assert isinstance(found, bytes)
    return found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((22, 1), b"object"),
        ((4,), b"d"),
        ((11,), 300),
        ((9,), 0.5),
        ((20, 2), b'"x"\n'),
        ((25, 1, 1), b"a"),
        ((25, 1, 2, 1), b"#/definitions/A"),
        ((21, 2), 0),
        ((31, 1), b"x-kubernetes-list-type"),
        ((31, 2, 2), b'"map"\n'),
    ],
)
def test_schemas(path, expected):
    assert inside(schema(**SCHEMA), *path) == expected


def test_repeated_values():
    assert [value for number, value in fields(schema(**SCHEMA)) if number == 19] == [b"a", b"b"]


def test_operations():
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    operation = {
        "operationId": "patchPod",
        "parameters": [
            {"name": "body", "in": "body", "required": True, "schema": {"type": "object"}},
            {"name": "force", "in": "query", "type": "boolean", "uniqueItems": True},
        ],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Pod"}}},
        "x-kubernetes-group-version-kind": kind,
    }
    name = {"name": "name", "in": "path", "type": "string", "required": True}
    whole = protobuf.document({"swagger": "2.0", "paths": {"/p": {"patch": operation, "parameters": [name]}}})
    assert inside(whole, 1) == b"2.0"
    assert inside(whole, 8, 2, 1) == b"/p"
    patch = inside(whole, 8, 2, 2, 8)
    assert inside(patch, 5) == b"patchPod"
    body, query = [value for number, value in fields(patch) if number == 8]
    assert inside(body, 1, 1, 2) == b"body"
    assert inside(body, 1, 1, 4) == 1
    assert inside(query, 1, 2, 3, 4) == b"force"
    assert inside(query, 1, 2, 3, 6) == b"boolean"
    assert inside(patch, 9, 1, 1) == b"200"
    assert inside(patch, 9, 1, 2, 1, 2, 1, 1) == b"#/definitions/Pod"
    assert inside(patch, 13, 2, 2) == b'{"group":"","version":"v1","kind":"Pod"}\n'
    assert inside(whole, 8, 2, 2, 9, 1, 2, 4, 4) == b"name"


@given(st.integers(0, 2**63 - 1))
def test_numbers(value):
    assert inside(schema(maxLength=value), 11) == value
