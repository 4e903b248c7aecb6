"""JSON merge patch. Authority: RFC 7386 appendix A; v1.36.4 vendor/gopkg.in/evanphx/json-patch.v4/merge.go."""

import pytest

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch import merge
from tiphys.machinery.tree import copy

CASES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    # merge.go pruneAryNulls: objects in a new list lose their nulls, null elements stay.
    ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
    ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
]


@pytest.mark.parametrize(("tree", "patch", "expected"), CASES)
def test_applies(tree, patch, expected):
    before = copy(tree), copy(patch)
    assert merge.apply(tree, patch) == expected
    assert (tree, patch) == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([1], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_malformed(patch, message):
    # v1.36.4 patch.go:415-430
    with pytest.raises(ApiError) as caught:
        merge.apply({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_malformed_and_not_validated():
    # As a server answers with fieldValidation=Ignore: a list replaces the object.
    assert merge.apply({"a": 1}, [{"b": None}], lenient=True) == [{}]
    with pytest.raises(ApiError) as caught:
        merge.apply({}, 1, lenient=True)
    assert (caught.value.code, caught.value.message) == (400, "Invalid JSON Patch")


def test_shares_what_it_leaves_alone():
    tree = {"a": {"x": 1}, "b": {"y": 1}}
    assert merge.apply(tree, {"a": {"x": 2}})["b"] is tree["b"]
