"""What every kind of these groups promises, whatever object of its schema it is given."""

import json
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiphys.api import core, discovery, events, networking
from tiphys.api.core.pods import PODS
from tiphys.apiserver import table
from tiphys.apiserver.definitions import definitions
from tiphys.machinery import tree
from tiphys.machinery.fields import FieldError
from tiphys.machinery.schema import Schemas

KINDS = [kind for group in (core, networking, discovery, events) for kind in group.KINDS if kind is not PODS]
NOW = 1_600_000_000.0
SCHEMAS = Schemas(definitions())
# Words that mean something somewhere, so that more than the first check is reached.
WORDS = (
    "",
    "a",
    "A b",
    "None",
    "ClusterIP",
    "NodePort",
    "LoadBalancer",
    "ExternalName",
    "Local",
    "ClientIP",
    "IPv4",
    "IPv6",
    "SingleStack",
    "10.0.0.1",
    "::1",
    "10.0.0.0/24",
    "x/y",
    "Container",
    "Exists",
    "In",
    "kubernetes.io/tls",
    "kubernetes.io/dockerconfigjson",
)
FORMATS = {
    "quantity": st.sampled_from(("0", "1", "-1", "1500m", "1Gi", "100n")),
    "int-or-string": st.one_of(st.integers(-1, 70000), st.sampled_from(WORDS)),
    "date-time": st.just("2020-01-01T00:00:00Z"),
    "micro-time": st.just("2020-01-01T00:00:00.000000Z"),
    "duration": st.just("1s"),
    "byte": st.sampled_from(("", "YQ==", "e30=")),
}
DEPTH = 6
SETTINGS = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def values_of(node_id, depth):
    node = NODES[node_id]
    if node.format in FORMATS:
        return FORMATS[node.format]
    match node.type:
        case "string":
            return st.sampled_from(WORDS)
        case "integer":
            return st.integers(-1, 70000)
        case "number":
            return st.floats(allow_nan=False)
        case "boolean":
            return st.booleans()
        case "list":
            return st.lists(values(node.items, depth), max_size=2) if depth else st.just([])
        case "map":
            held = values(node.items, depth)
            return st.dictionaries(st.sampled_from(("a", "A b", "storage", "pods", "cpu")), held, max_size=2)
        case "object" if depth:
            return st.fixed_dictionaries({}, optional={name: values(each, depth - 1) for name, each in node.fields.items()})
    return st.just({})


NODES = {}


def values(node, depth):
    NODES[id(node)] = node
    return values_of(id(node), depth)


def objects_of(kind):
    node = SCHEMAS.node(kind.schema)
    parts = {name: values(each, DEPTH) for name, each in node.fields.items() if name not in ("apiVersion", "kind", "metadata")}
    meta = st.fixed_dictionaries(
        {"name": st.sampled_from(("a", "A b", "10.0.0.1"))},
        optional={"annotations": st.dictionaries(st.sampled_from(WORDS), st.sampled_from(WORDS), max_size=2)},
    )
    fixed = {"apiVersion": st.just(kind.api_version), "kind": st.just(kind.kind), "metadata": meta}
    return st.fixed_dictionaries(fixed, optional=parts)


def bare(kind):
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a", "namespace": "default"}}


def named(kind):
    return f"{kind.group or 'core'}-{kind.plural}"


each_kind = pytest.mark.parametrize("kind", KINDS, ids=named)


@each_kind
@given(data=st.data())
@SETTINGS
def test_any_object_is_judged_and_shown(kind, data):
    # pkg/api/testing/serialization_test.go fuzzes upstream's kinds the same way: a bad object is told of, never a crash.
    obj = data.draw(objects_of(kind))
    kind.default(obj)
    once = json.dumps(obj, sort_keys=True)
    kind.default(obj)
    assert json.dumps(obj, sort_keys=True) == once, "defaults change what they have filled in"
    old = tree.copy(obj)
    new = tree.copy(obj)
    kind.prepare_create(new)
    judge(kind, new, old)
    changed = data.draw(objects_of(kind))
    kind.default(changed)
    kind.prepare_update(changed, old)
    judge(kind, changed, old)
    assert json.dumps(old, sort_keys=True) == once, "a stored object was changed"
    if kind.conversion:
        # What says nothing may be left out, as upstream's `omitempty` does.
        assert said(kind.conversion.from_stored(kind.conversion.to_stored(obj))) == said(obj)


def said(obj):
    return {part: value for part, value in obj.items() if value != ""}


def judge(kind, new, old):
    found = [*kind.validate(new), *kind.validate_create(new), *kind.validate_update(new, old), *kind.validate_status(new, old)]
    for part in kind.parts.values():
        found.extend(part.validate(new, old))
    for problem in found:
        assert isinstance(problem, FieldError)
        assert str(problem)
    assert all(isinstance(warning, str) for warning in kind.warnings(new, old))
    columns = table.columns_of(kind)
    assert len(table.row(columns, new, NOW, "None", "")["cells"]) == len(columns)


@each_kind
def test_columns_of_a_bare_object(kind):
    # v1.36.4 pkg/printers/internalversion/printers.go: a printer never fails for want of a field.
    obj = bare(kind)
    kind.default(obj)
    cells = table.row(table.columns_of(kind), obj, NOW, "None", "")["cells"]
    assert None not in [cell for column, cell in zip(table.columns_of(kind), cells, strict=True) if column.name != "Created At"]


@each_kind
def test_fields_can_be_selected(kind):
    # v1.36.4 pkg/apis/core/v1/conversion.go:446: the labels of field selectors are read off any object.
    obj = bare(kind)
    kind.default(obj)
    for label in kind.selectable:
        read = kind.field_of.get(label)
        assert isinstance(read(obj) if read else tree.get(obj, label.split("."), ""), str)


@each_kind
def test_schema_is_published(kind):
    assert kind.schema in SCHEMAS.definitions
    gvks = SCHEMAS.definitions[kind.schema]["x-kubernetes-group-version-kind"]
    assert {"group": kind.group, "kind": kind.kind, "version": kind.version} in gvks


def test_order_is_that_of_discovery():
    # kube-apiserver v1.36.4, GET /api/v1 and /apis/<group>/<version>: alphabetical, one entry a resource.
    for group in (core, networking, discovery, events):
        plurals = [kind.plural for kind in group.KINDS]
        assert plurals == sorted(plurals)
    assert len(core.KINDS) == 17
    assert len(networking.KINDS) == 5
