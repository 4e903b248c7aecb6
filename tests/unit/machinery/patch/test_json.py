"""JSON patch. Authority: RFC 6902, appendix A; v1.36.4 vendor/gopkg.in/evanphx/json-patch.v4/patch.go where it departs."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch import json
from tiphys.machinery.tree import copy

WORKS = {
    "add a member (A.1)": ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"foo": "bar", "baz": "qux"}),
    "add an element (A.2)": ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
    "add at the end": ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
    "add at the end by length": ({"a": [1]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
    "add over an existing member": ({"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
    "remove an element (A.4)": ({"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}], {"a": [2]}),
    "replace (A.5)": ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
    # patch.go partialDoc.get: an absent member is no error.
    "replace of nothing": ({}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}),
    "replace of everything": ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
    "move (A.6)": (
        {"a": {"x": 1}, "b": {}},
        [{"op": "move", "from": "/a/x", "path": "/b/y"}],
        {"a": {}, "b": {"y": 1}},
    ),
    "move in a list (A.7)": ({"a": [1, 2, 3]}, [{"op": "move", "from": "/a/0", "path": "/a/2"}], {"a": [2, 3, 1]}),
    "copy is independent": (
        {"a": {"x": 1}},
        [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/y", "value": 2}],
        {"a": {"x": 1}, "b": {"x": 1, "y": 2}},
    ),
    "copy of nothing is null": ({}, [{"op": "copy", "from": "/a", "path": "/b"}], {"b": None}),
    "test passes (A.8)": ({"a": [{"b": 1}]}, [{"op": "test", "path": "/a", "value": [{"b": 1}]}], {"a": [{"b": 1}]}),
    "test of an absent member for null": ({}, [{"op": "test", "path": "/a", "value": None}], {}),
    "test of the whole": ({"a": 1}, [{"op": "test", "path": "", "value": {"a": 1}}], {"a": 1}),
    "escapes (A.14)": ({"a/b": 1, "m~n": 2}, [{"op": "remove", "path": "/a~1b"}, {"op": "remove", "path": "/m~0n"}], {}),
    "negative index": ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}),
    "add at a negative index": ({"a": [1, 2]}, [{"op": "add", "path": "/a/-1", "value": 3}], {"a": [1, 2, 3]}),
    "no operations": ({"a": 1}, [], {"a": 1}),
}

FAILS = {
    "add below nothing (A.12)": ({}, [{"op": "add", "path": "/a/b", "value": 1}]),
    "add past the end": ({"a": []}, [{"op": "add", "path": "/a/1", "value": 1}]),
    "add to a scalar": ({"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}]),
    "add as the whole": ({}, [{"op": "add", "path": "", "value": {}}]),
    "remove of nothing": ({}, [{"op": "remove", "path": "/a"}]),
    "replace past the end": ({"a": []}, [{"op": "replace", "path": "/a/0", "value": 1}]),
    "move of nothing": ({}, [{"op": "move", "from": "/a", "path": "/b"}]),
    "test fails (A.9)": ({"a": 1}, [{"op": "test", "path": "/a", "value": 2}]),
    "test knows types": ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
    "test of an absent member": ({}, [{"op": "test", "path": "/a", "value": 1}]),
    "no path": ({}, [{"op": "remove"}]),
    "unknown operation": ({}, [{"op": "spin", "path": "/a"}]),
    "not an index": ({"a": [1]}, [{"op": "remove", "path": "/a/x"}]),
}


@pytest.mark.parametrize(("tree", "ops", "expected"), WORKS.values(), ids=WORKS)
def test_applies(tree, ops, expected):
    before = copy(tree), copy(ops)
    assert json.apply(tree, ops) == expected
    assert (tree, ops) == before


@pytest.mark.parametrize(("tree", "ops"), FAILS.values(), ids=FAILS)
def test_does_not_apply(tree, ops):
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go:411: 422, and the reason is not told.
    before = copy(tree)
    with pytest.raises(ApiError) as caught:
        json.apply(tree, ops)
    assert caught.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }
    assert tree == before


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ({"op": "add"}, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (["add"], "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_malformed(ops, message):
    # v1.36.4 patch.go:389-396
    with pytest.raises(ApiError) as caught:
        json.apply({}, ops)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("ops", "code", "message"),
    [
        ({"op": "add"}, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (["add"], 400, "json: cannot unmarshal string into Patch.0 of type jsonpatch.Operation"),
        ([{"op": 1}], 422, "the server rejected our request due to an error in our request"),
    ],
)
def test_malformed_and_not_validated(ops, code, message):
    # As a server answers with fieldValidation=Ignore.
    with pytest.raises(ApiError) as caught:
        json.apply({}, ops, lenient=True)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_unknown_members():
    ops = [{"op": "test", "path": "/a", "value": None, "foo": 1}, None, {"op": "test", "path": "/a", "from": "", "bar": 2}]
    assert json.strict_problems(ops) == ['json patch unknown field "[0].foo"', 'json patch unknown field "[2].bar"']


def test_too_many_operations():
    # v1.36.4 patch.go:402-406
    with pytest.raises(ApiError) as caught:
        json.apply({}, [{"op": "test", "path": "/a", "value": None}] * 10_001)
    assert caught.value.code == 413
    assert caught.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "c", "0", "1", "-"]), max_size=3).map(lambda steps: "".join("/" + s for s in steps))
OPS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy"]),
            "path": PATHS,
            "from": PATHS,
            "value": VALUES,
        }
    ),
    max_size=6,
)


@given(st.dictionaries(st.sampled_from("abc"), VALUES), OPS)
def test_never_changes_its_arguments(tree, ops):
    before = copy(tree), copy(ops)
    with contextlib.suppress(ApiError):
        json.apply(tree, ops)
    assert json.same(tree, before[0])
    assert json.same(ops, before[1])
