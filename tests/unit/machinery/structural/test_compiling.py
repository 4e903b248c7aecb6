"""Structural schemas compiled; defaults; sets and maps. v1.36.4 apiextensions-apiserver/pkg/apiserver/schema/{defaulting,
pruning,listtype,objectmeta}."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.apiserver.definitions import definitions
from tiphys.machinery import decode
from tiphys.machinery.schema import Schemas
from tiphys.machinery.structural.compiling import compile_schema
from tiphys.machinery.structural.defaulting import defaulted
from tiphys.machinery.structural.embedded import validate_embedded
from tiphys.machinery.structural.lists import validate_lists
from tiphys.machinery.structural.numbers import with_plain_numbers


@cache
def metadata():
    return Schemas(definitions()).node("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def compiled(**spec):
    return compile_schema({"type": "object", "properties": {"spec": {"type": "object", **spec}}}, metadata())


def of(spec):
    return {"apiVersion": "a.b/v1", "kind": "A", "metadata": {"name": "x"}, "spec": spec}


DEFAULTS = {
    "properties": {
        "a": {"type": "string", "default": "x"},
        "n": {"type": "string", "default": "x", "nullable": True},
        "o": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 1}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer", "default": 2}}}},
        "m": {"type": "object", "additionalProperties": {"type": "integer", "default": 3}},
    }
}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, {"a": "x", "n": "x", "o": {"b": 1}}),
        ({"a": "y", "n": None, "o": {"b": 5}}, {"a": "y", "n": None, "o": {"b": 5}}),
        ({"a": None, "n": "z", "o": None}, {"a": "x", "n": "z", "o": {"b": 1}}),
        (
            {"a": "y", "n": "y", "o": {"b": 1}, "l": [{}, {"c": 9}], "m": {"k": None}},
            {"a": "y", "n": "y", "o": {"b": 1}, "l": [{"c": 2}, {"c": 9}], "m": {"k": 3}},
        ),
    ],
)
def test_defaults(spec, wanted):
    node, sent = compiled(**DEFAULTS), of(spec)
    made = defaulted(decode.prune(sent, node, resource=True), node)
    assert made["spec"] == wanted
    assert sent == of(spec), "what was sent is left alone"
    assert defaulted(made, node) is made


def test_what_is_complete_is_not_copied():
    node = compiled(**DEFAULTS)
    whole = of({"a": "y", "n": "y", "o": {"b": 1}})
    assert defaulted(decode.prune(whole, node, resource=True), node) is whole


def test_defaults_do_not_bring_in_what_would_be_pruned():
    node = compiled(properties={"o": {"type": "object", "default": {"b": 1, "z": 2}, "properties": {"b": {"type": "integer"}}}})
    assert defaulted(of({}), node)["spec"] == {"o": {"b": 1}}


def test_metadata_of_embedded_resources_is_read_like_any_other():
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    node = compiled(properties={"template": template})
    unknown: list[str] = []
    sent = of({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "unheard": 1}, "spec": {"a": 1}}})
    made = decode.conform(sent, node, unknown)
    assert made["spec"]["template"] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1}}
    assert unknown == ["spec.template.metadata.unheard"]


@pytest.mark.parametrize(
    ("resource", "problems"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({"kind": "Pod"}, ["spec.template.apiVersion: Required value"]),
        ({"apiVersion": "", "kind": "Pod"}, ['spec.template.apiVersion: Invalid value: "": must not be empty']),
        (
            {"apiVersion": "a/b/c", "kind": "Pod"},
            ['spec.template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}},
            ["spec.template.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
    ],
)
def test_embedded_resources_are_resources(resource, problems):
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    node = compiled(properties={"template": template})
    assert [str(each) for each in validate_embedded(of({"template": resource}), node)] == problems


@pytest.mark.parametrize(
    ("hints", "value", "problems"),
    [
        ({"x-kubernetes-list-type": "set"}, ["a", "b", "a", "a"], ['spec.l[2]: Duplicate value: "a"']),
        ({"x-kubernetes-list-type": "set"}, [{"k": 1}, {"k": 1}], ['spec.l[1]: Duplicate value: {"k":1}']),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            [{"k": 1, "v": 1}, {"k": 1, "v": 2}],
            ['spec.l[1]: Duplicate value: {"k":1}'],
        ),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "j"]},
            [{"k": 1, "j": 1}, {"k": 1, "j": 2}, {"j": 1, "k": 1}],
            ['spec.l[2]: Duplicate value: {"j":1,"k":1}'],
        ),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            ["x"],
            ['spec.l[0]: Invalid value: "x": must be an object for an array of list-type map'],
        ),
        ({}, ["a", "a"], []),
    ],
)
def test_nothing_stands_twice_in_a_set_or_map(hints, value, problems):
    item = {"x-kubernetes-preserve-unknown-fields": True}
    node = compiled(properties={"l": {"type": "array", "items": item, **hints}})
    assert [str(each) for each in validate_lists(of({"l": value}), node)] == problems


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abclmnoz"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abclmnoz"), values, max_size=5))
def test_a_second_look_at_what_was_pruned_and_defaulted_changes_nothing(spec):
    node = compiled(**DEFAULTS)
    once = defaulted(decode.prune(of(spec), node, resource=True), node)
    assert decode.prune(once, node, resource=True) is once
    assert defaulted(once, node) is once


def test_numbers_are_stored_as_go_writes_them():
    whole = {"a": [1.0, 1.5, {"b": 2.0}], "c": 1e300, "d": True}
    assert repr(with_plain_numbers(whole)) == repr({"a": [1, 1.5, {"b": 2}], "c": 1e300, "d": True})
    plain = {"a": [1, 1.5]}
    assert with_plain_numbers(plain) is plain
