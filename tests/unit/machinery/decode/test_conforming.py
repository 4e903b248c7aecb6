import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import tree
from tiphys.machinery.decode import conform
from tiphys.machinery.errors import ApiError
from tiphys.machinery.schema import Node

LINES = (Path(__file__).parent / "go_round_trips.tsv").read_text(encoding="utf-8").splitlines()
PAIRS = [[json.loads(part) for part in line.split("\t")] for line in LINES]
CORE = "io.k8s.api.core.v1."
PACKAGES = {
    "": "api.core",
    "apiextensions.k8s.io": "apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "kube-aggregator.pkg.apis.apiregistration",
    "rbac.authorization.k8s.io": "api.rbac",
    "flowcontrol.apiserver.k8s.io": "api.flowcontrol",
}


def definition_of(obj):
    group, _, version = obj["apiVersion"].rpartition("/")
    return f"io.k8s.{PACKAGES.get(group) or 'api.' + group.split('.')[0]}.{version}.{obj['kind']}"


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


# Each pair is an object made up at random with its zeros, nulls and empty collections spelled out, and what upstream v1.36.4
# makes of it by way of its decoder, its storage encoding and its JSON.
@pytest.mark.parametrize(("sent", "stored"), PAIRS, ids=[pair[0]["kind"] for pair in PAIRS])
def test_becomes_what_upstream_stores(schemas, sent, stored):
    node = schemas.node(definition_of(sent))
    before, unknown = tree.copy(sent), []
    result = conform(sent, node, unknown)
    assert without_nulls(result) == stored
    assert unknown == []
    assert sent == before
    assert conform(result, node, []) is result


# v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go:252 and encoding/json
@pytest.mark.parametrize(
    ("kind", "sent", "told"),
    [
        (
            "apps.v1.Deployment",
            {"spec": {"replicas": "3"}},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps.v1.Deployment",
            {"spec": {"replicas": 2**31}},
            "json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps.v1.Deployment",
            {"spec": []},
            "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec",
        ),
        (
            "apps.v1.Deployment",
            {"spec": {"template": {"spec": {"containers": {}}}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            "core.v1.Pod",
            {"spec": {"containers": [{"name": True}]}},
            "json: cannot unmarshal bool into Go struct field Container.spec.containers.name of type string",
        ),
        (
            "core.v1.Pod",
            {"spec": {"containers": ["a"]}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "core.v1.Pod",
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "core.v1.Pod",
            {"spec": {"restartPolicy": 1}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "core.v1.Pod",
            {"spec": {"hostNetwork": "true"}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            "core.v1.Service",
            {"spec": {"ports": [{"targetPort": False}]}},
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "core.v1.Pod",
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "core.v1.Pod",
            {"metadata": {"creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
        (
            "core.v1.Pod",
            {"metadata": {"creationTimestamp": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "core.v1.Pod",
            {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 1.5}}}]}},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        ("core.v1.Secret", {"data": {"a": "ab!="}}, "illegal base64 data at input byte 2"),
    ],
)
def test_refuses_other_types(schemas, kind, sent, told):
    with pytest.raises(ApiError) as caught:
        conform(sent, schemas.node("io.k8s.api." + kind), [])
    name = kind.rpartition(".")[2]
    assert caught.value.code == 400
    assert caught.value.message == f'{name} in version "v1" cannot be handled as a {name}: {told}'


def test_drops_unknown_fields_and_tells_where_they_were(schemas):
    sent = {
        "kind": "Pod",
        "Spec": {},
        "metadata": {"name": "a", "colour": 1},
        "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [{"port": 1}]}]},
    }
    unknown = []
    result = conform(sent, schemas.node(CORE + "Pod"), unknown)
    assert unknown == ["Spec", "metadata.colour", "spec.containers[1].ports[0].port"]
    assert result["metadata"] == {"name": "a"}
    assert "Spec" not in result
    assert conform(sent, schemas.node(CORE + "Pod"), None) == result


def test_tells_of_a_hundred_unknown_fields_at_the_most(schemas):
    unknown = []
    conform({str(number): 1 for number in range(1000)}, schemas.node(CORE + "Pod"), unknown)
    assert len(unknown) == 100


@pytest.mark.parametrize(
    ("kind", "sent", "expected"),
    [
        (
            "core.v1.Pod",
            {"spec": {"containers": [{"resources": {"limits": {"cpu": 0.5, "memory": 1}}}]}},
            {"cpu": "500m", "memory": "1"},
        ),
        ("core.v1.Pod", {"spec": {"containers": [{"resources": {"limits": {"cpu": "1000m"}}}]}}, {"cpu": "1"}),
        ("core.v1.Pod", {"spec": {"containers": [{"resources": {"limits": {"cpu": None}}}]}}, {"cpu": "0"}),
    ],
)
def test_spells_quantities_as_upstream_does(schemas, kind, sent, expected):
    result = conform(sent, schemas.node("io.k8s.api." + kind), None)
    assert result["spec"]["containers"][0]["resources"]["limits"] == expected


def test_times(schemas):
    lease = {"spec": {"renewTime": "2026-01-02T03:04:05.5+01:00"}}
    with pytest.raises(ApiError, match=r"\.000000"):
        conform(lease, schemas.node("io.k8s.api.coordination.v1.Lease"), None)
    lease = {"spec": {"renewTime": "2026-01-02T03:04:05.500000+01:00"}}
    assert conform(lease, schemas.node("io.k8s.api.coordination.v1.Lease"), None)["spec"] == {
        "renewTime": "2026-01-02T02:04:05.500000Z"
    }
    pod = {"metadata": {"deletionTimestamp": "2026-01-02T03:04:05.9Z"}}
    assert conform(pod, schemas.node(CORE + "Pod"), None)["metadata"] == {"deletionTimestamp": "2026-01-02T03:04:05Z"}


def test_adds_what_go_always_writes(schemas):
    # v1.36.4 staging/src/k8s.io/api: a struct that is no pointer is written whatever its tag says
    empty = conform({}, schemas.node("io.k8s.api.apps.v1.Deployment"), None)
    assert empty == {"metadata": {}, "spec": {"strategy": {}, "template": {"metadata": {}, "spec": {}}}, "status": {}}
    assert conform({"status": {}}, schemas.node("io.k8s.api.apps.v1.ReplicaSet"), None)["status"] == {"replicas": 0}
    pod = conform({"spec": {"containers": [{"name": "a"}]}}, schemas.node(CORE + "Pod"), None)
    assert pod["spec"]["containers"] == [{"name": "a", "resources": {}}]


def test_schemas_in_schemas(schemas):
    # v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go:70
    props = {
        "type": "object",
        "wrong": 1,
        "items": {"type": "string", "wrong": 1, "description": ""},
        "additionalProperties": False,
        "properties": {"a": {"items": [{"type": "x"}, {"wrong": 1}]}},
    }
    sent = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": props}}]}}
    unknown = []
    node = schemas.node("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
    result = conform(sent, node, unknown)
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.wrong"]
    assert result["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "items": {"type": "string"},
        "additionalProperties": False,
        "properties": {"a": {"items": [{"type": "x"}, {}]}},
    }
    assert conform(result, node, []) is result


def test_every_definition_compiles_and_its_zero_is_stable(schemas):
    for definition in schemas.definitions:
        node = schemas.node(definition)
        if node.type == "object":
            zero = conform({}, node, None)
            assert conform(zero, node, None) is zero


def test_endless_nesting_is_refused(schemas):
    nested = {}
    for _ in range(5000):
        nested = {"not": nested}
    crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": nested}}]}}
    definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    with pytest.raises(ApiError, match="exceeded max depth"):
        conform(crd, schemas.node(definition), None)


def custom():
    spec = Node(
        "object",
        fields={
            "size": Node("integer"),
            "free": Node("object", preserve_unknown=True),
            "each": Node("map", items=Node("object", fields={"a": Node("string")})),
            "list": Node("list", items=Node("object", fields={"a": Node("string")})),
            "filled": Node("string", default="x", has_default=True),
        },
    )
    return Node("object", fields={"spec": spec})


def test_custom_resources_are_only_pruned():
    sent = {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "a"},
        "spec": {
            "size": "text",
            "free": {"x": None},
            "each": {"k": {"a": "", "b": 1}},
            "list": [{"a": None, "c": 1}],
            "filled": None,
            "other": 1,
        },
    }
    unknown = []
    result = conform(sent, custom(), unknown)
    # Nulls go where null is no value (schema/defaulting/prunenulls.go), unless a default takes their place.
    assert result["spec"] == {"size": "text", "free": {"x": None}, "each": {"k": {"a": ""}}, "list": [{}], "filled": None}
    assert result["metadata"] == {"name": "a"}
    assert unknown == ["spec.each.k.b", "spec.list[0].c", "spec.other"]


def test_a_custom_resource_without_anything_to_prune_is_left_as_it_is():
    sent = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"each": {"k": {"a": "b"}}}}
    assert conform(sent, custom(), None) is sent


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
names = st.sampled_from(
    ["metadata", "spec", "containers", "name", "labels", "ports", "status", "env", "resources", "limits", "x"]
)
trees = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=15
)


@given(st.dictionaries(names, trees, max_size=4))
def test_whatever_is_sent_conforms_for_good_or_is_refused(schemas, sent):
    node = schemas.node(CORE + "Pod")
    before = tree.copy(sent)
    try:
        result = conform(sent, node, [])
    except ApiError as error:
        assert error.reason == "BadRequest"  # noqa: PT017
        return
    assert sent == before
    assert conform(result, node, []) is result
