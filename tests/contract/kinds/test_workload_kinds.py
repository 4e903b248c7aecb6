"""What every kind of workloads, policy, storage and devices promises, whatever conforming object it is given."""

import functools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiphys.api import apps, autoscaling, batch, coordination, node, policy, resource, scheduling, storage
from tiphys.api.kind import Kind
from tiphys.apiserver.definitions import definitions
from tiphys.machinery import tree
from tiphys.machinery.fields import FieldError
from tiphys.machinery.schema import Node, Schemas

PACKAGES = (apps, autoscaling, batch, coordination, node, policy, resource, scheduling, storage)
KINDS = [kind for package in PACKAGES for kind in package.KINDS]
NOW = 1767323045.0
DEPTH = 6

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.plural}.{kind.version}.{kind.group}")

WORDS = st.sampled_from(["", "a", "RollingUpdate", "Indexed", "Resource", "Pods", "Exists", "In", "A_", "x/y", "0-2", "a.io/b"])
FORMATS = {
    "quantity": st.sampled_from(["0", "1", "-1", "1Gi", "250m"]),
    "int-or-string": st.one_of(st.integers(-2, 200), st.sampled_from(["25%", "150%", "x", "5"])),
    "date-time": st.just("2026-01-02T03:04:05Z"),
    "micro-time": st.just("2026-01-02T03:04:05.000000Z"),
    "byte": st.just("YQ=="),
}


@functools.cache
def schemas() -> Schemas:
    return Schemas(definitions())


def values(node: Node, depth: int) -> st.SearchStrategy[Any]:
    """Values that decoding would let through; deeper than `depth` they are empty."""
    if node.format in FORMATS:
        return FORMATS[node.format]
    match node.type:
        case "object":
            return objects(node, depth)
        case "map":
            return st.dictionaries(WORDS, values(node.items, depth - 1), max_size=2) if depth else st.just({})
        case "list":
            return st.lists(values(node.items, depth - 1), max_size=2) if depth else st.just([])
        case "integer":
            return st.integers(-2, 300)
        case "boolean":
            return st.booleans()
        case "any":
            return st.just({"a": 1})
    return WORDS


def objects(node: Node, depth: int) -> st.SearchStrategy[Any]:
    if not depth:
        return st.just({})

    @st.composite
    def build(draw):
        # A handful of the fields at a time: every combination turns up sooner or later, and none is large.
        names = draw(st.lists(st.sampled_from(sorted(node.fields)), unique=True, max_size=5)) if node.fields else []
        return {name: draw(values(node.fields[name], depth - 1)) for name in names}

    return build()


@st.composite
def conforming(draw, kind: Kind):
    node = schemas().node(kind.schema)
    obj = {name: draw(values(node.fields[name], DEPTH)) for name in ("spec", "status") if name in node.fields}
    others = [name for name in node.fields if name not in ("apiVersion", "kind", "metadata", "spec", "status")]
    obj |= {name: draw(values(node.fields[name], DEPTH)) for name in others if draw(st.booleans())}
    meta = {"name": draw(st.sampled_from(["a", "system-x", "a.b"])), "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta} | obj


def empty(kind: Kind) -> Any:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a", "uid": "u"}}


def stored(kind: Kind, obj: Any) -> Any:
    kind.default(obj)
    if kind.conversion:
        obj = kind.conversion.to_stored(obj)
    return obj


@every_kind
def test_schema_is_published_and_names_the_kind(kind):
    node = schemas().node(kind.schema)
    assert {"apiVersion", "kind", "metadata"} <= node.fields.keys()
    assert node.raw["x-kubernetes-group-version-kind"][0] == {"group": kind.group, "version": kind.version, "kind": kind.kind}


@every_kind
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hooks_stand_any_conforming_object(kind, data):
    """Problems are yielded, never raised; columns of anything that was ever stored can be shown."""
    obj = data.draw(conforming(kind))
    kind.default(obj)
    again = tree.copy(obj)
    kind.default(again)
    assert again == obj, "defaults are idempotent"
    main = kind.stored
    new = kind.conversion.to_stored(obj) if kind.conversion else obj
    main.prepare_create(new)
    old = tree.copy(new)
    main.prepare_update(new, old)
    problems = [
        *main.validate(new),
        *main.validate_create(new),
        *main.validate_update(new, old),
        *main.validate_status(new, old),
    ]
    assert all(isinstance(problem, FieldError) and str(problem) for problem in problems)
    list(main.warnings(new, None))
    list(main.warnings(new, old))
    main.prepare_status(new, old)
    for column in main.columns:
        if callable(column.value):
            assert isinstance(column.value(new, NOW), str | int | bool)


@every_kind
def test_columns_resolve_on_a_nearly_empty_object(kind):
    for column in kind.stored.columns:
        if callable(column.value):
            assert isinstance(column.value(empty(kind.stored), NOW), str | int | bool)


@every_kind
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_unchanged_object_may_always_be_written_back(kind, data):
    """What was accepted once is accepted again, and nothing in it changes."""
    obj = stored(kind, data.draw(conforming(kind)))
    main = kind.stored
    main.prepare_create(obj)
    if [*main.validate(obj), *main.validate_create(obj)]:
        return
    new = tree.copy(obj)
    main.default(new)
    main.prepare_update(new, obj)
    assert new == obj
    assert [str(problem) for problem in (*main.validate(new), *main.validate_update(new, obj))] == []


# v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/installer.go: resources of a version are listed by name
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_discovery_order(package):
    for version in {kind.version for kind in package.KINDS}:
        names = [kind.plural for kind in package.KINDS if kind.version == version]
        assert names == sorted(names)
