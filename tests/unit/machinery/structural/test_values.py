"""What a schema says of values. v1.36.4 vendor/k8s.io/kube-openapi/pkg/validation/validate (the words are in
../errors/schema.go) and apiextensions-apiserver/pkg/apiserver/validation/{validation,ratcheting}.go."""

import pytest

from tiphys.machinery.structural.values import validate_values


def told(value, schema, **old):
    return [str(each) for each in validate_values({"a": value}, {"type": "object", "properties": {"a": schema}}, **old)]


BODY = "a in body"


@pytest.mark.parametrize(
    ("value", "schema", "problems"),
    [
        ("x", {"type": "string"}, []),
        (1, {"type": "string"}, [f'a: Invalid value: "integer": {BODY} must be of type string: "integer"']),
        (None, {"type": "string"}, [f'a: Invalid value: "null": {BODY} must be of type string: "null"']),
        (None, {"type": "string", "nullable": True}, []),
        (1.0, {"type": "integer"}, []),
        (
            1.5,
            {"type": "integer"},
            [
                f'a: Invalid value: "number": {BODY} must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
            ],
        ),
        # Bounds are cut off where the value is an integer, and floats where the accepted values are.
        (1, {"type": "number", "minimum": 0.5, "exclusiveMinimum": True}, []),
        (
            1,
            {"type": "number", "multipleOf": 0.5},
            ["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"],
        ),
        (
            1.5,
            {"type": "integer", "enum": [1]},
            [
                f'a: Invalid value: "number": {BODY} must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
            ],
        ),
        (
            2**63,
            {"type": "integer", "format": "int64"},
            [
                f'a: Invalid value: "float64": {BODY} must be of type int64: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in a',
            ],
        ),
        (1, {"type": "number"}, []),
        (True, {"type": "integer"}, [f'a: Invalid value: "boolean": {BODY} must be of type integer: "boolean"']),
        ("x", {"x-kubernetes-int-or-string": True}, []),
        (
            True,
            {"x-kubernetes-int-or-string": True},
            [f'a: Invalid value: "boolean": {BODY} must be of type integer,string: "boolean"'],
        ),
        ("abc", {"type": "string", "maxLength": 2}, ["a: Too long: may not be more than 2 bytes"]),
        ("", {"type": "string", "minLength": 1}, [f'a: Invalid value: "": {BODY} should be at least 1 chars long']),
        ("b", {"type": "string", "pattern": "^a$"}, [f"a: Invalid value: \"b\": {BODY} should match '^a$'"]),
        (11, {"type": "integer", "maximum": 10}, [f"a: Invalid value: 11: {BODY} should be less than or equal to 10"]),
        (
            10,
            {"type": "integer", "maximum": 10, "exclusiveMaximum": True},
            [f"a: Invalid value: 10: {BODY} should be less than 10"],
        ),
        (0, {"type": "integer", "minimum": 1}, [f"a: Invalid value: 0: {BODY} should be greater than or equal to 1"]),
        (7, {"type": "integer", "multipleOf": 5}, [f"a: Invalid value: 7: {BODY} should be a multiple of 5"]),
        ("c", {"type": "string", "enum": ["a", "b"]}, ['a: Unsupported value: "c": supported values: "a", "b"']),
        (3, {"type": "integer", "enum": [1, 2]}, ['a: Unsupported value: 3: supported values: "1", "2"']),
        (
            [1],
            {"type": "array", "items": {"type": "string"}},
            ['a[0]: Invalid value: "integer": a[0] in body must be of type string: "integer"'],
        ),
        ([], {"type": "array", "minItems": 1}, [f"a: Invalid value: 0: {BODY} should have at least 1 items"]),
        ([1, 2], {"type": "array", "maxItems": 1}, ["a: Too many: 2: must have at most 1 item"]),
        ({}, {"type": "object", "required": ["b"]}, ["a.b: Required value"]),
        ({"b": 1, "c": 2}, {"type": "object", "maxProperties": 1}, ["a: Too many: 2: must have at most 1 item"]),
        ({}, {"type": "object", "minProperties": 1}, [f"a: Invalid value: 0: {BODY} should have at least 1 properties"]),
        (
            {"b": 1},
            {"type": "object", "additionalProperties": {"type": "string"}},
            ['a.b: Invalid value: "integer": a.b in body must be of type string: "integer"'],
        ),
        ("x", {"type": "string", "format": "date"}, [f'a: Invalid value: "x": {BODY} must be of type date: "x"']),
        ("x", {"type": "string", "format": "unheard-of"}, []),
        (
            2**31,
            {"type": "integer", "format": "int32"},
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
        ),
        (
            "x",
            {"anyOf": [{"type": "integer"}, {"minLength": 2}]},
            [
                '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
                f'a: Invalid value: "string": {BODY} must be of type integer: "string"',
            ],
        ),
        (
            5,
            {"oneOf": [{"minimum": 1}, {"maximum": 9}]},
            ['<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
        (5, {"not": {"minimum": 1}}, ['<nil>: Invalid value: "": "a" must not validate the schema (not)']),
        (
            5,
            {"allOf": [{"minimum": 1}, {"maximum": 4}]},
            [
                f"a: Invalid value: 5: {BODY} should be less than or equal to 4",
                '<nil>: Invalid value: "": "a" must validate all the schemas (allOf)',
            ],
        ),
    ],
)
def test_what_is_told_of_a_value(value, schema, problems):
    assert told(value, schema) == problems


def test_the_status_alone_is_told_of_below_status():
    schema = {"type": "object", "required": ["phase"], "properties": {"n": {"type": "integer"}}}
    assert [str(each) for each in validate_values({"n": "x"}, schema, "status")] == [
        'status.n: Invalid value: "string": n in body must be of type integer: "string"',
        "status.phase: Required value",
    ]


def test_what_was_wrong_before_and_is_left_alone_may_stay():
    schema = {"type": "string", "maxLength": 2}
    assert told("long", schema, old={"a": "long"}) == []
    assert told("longer", schema, old={"a": "long"}) == ["a: Too long: may not be more than 2 bytes"]


def test_elements_of_lists_stay_wrong_only_where_keys_tell_which_is_which():
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    before, after = [{"k": "x", "v": "bad"}], [{"k": "y"}, {"k": "x", "v": "bad"}]
    assert told(after, keyed, old={"a": before}) == []
    assert len(told(after, {"type": "array", "items": item}, old={"a": before})) == 1
