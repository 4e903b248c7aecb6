"""Defaults that a definition may have. v1.36.4 apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go; what is
told was compared with that server."""

import pytest

from tiphys.api.apiextensions.defaults import validate_defaults

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
OBJECT = {"type": "object", "properties": {"c": TEXT}}
AT = "properties[a].default"


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        ({**TEXT, "default": "x"}, []),
        ({**TEXT, "default": 1}, [f'{AT}: Invalid value: "integer":  in body must be of type string: "integer"']),
        ({**NUMBER, "default": 1, "minimum": 5}, [f"{AT}: Invalid value: 1:  in body should be greater than or equal to 5"]),
        ({**OBJECT, "default": {"b": 1}}, [f'{AT}: Invalid value: {{"b":1}}: must not have unknown fields']),
        ({**OBJECT, "default": {"c": 1}}, [f'{AT}.c: Invalid value: "integer": c in body must be of type string: "integer"']),
        ({**OBJECT, "default": {"c": None}}, [f'{AT}.c: Invalid value: "null": c in body must be of type string: "null"']),
        ({**OBJECT, "default": {}, "required": ["c"]}, [f"{AT}.c: Required value"]),
        ({**RESOURCE, "default": {"apiVersion": "v1", "kind": "Pod"}}, []),
        ({**RESOURCE, "default": {"kind": "Pod"}}, [f"{AT}.apiVersion: Required value"]),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {"q": {"z": 1}}}, []),
        ({"x-kubernetes-int-or-string": True, "default": True}, []),
        (
            {"type": "array", "items": {**TEXT, "default": 5}},
            ['properties[a].items.default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
    ],
)
def test_what_is_told_of_a_default(schema, problems):
    assert [str(each) for each in validate_defaults({"type": "object", "properties": {"a": schema}}, "")] == problems
