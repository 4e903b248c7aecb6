import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import meta, validators


def make(**fields):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", **fields}}


def told(problems):
    return [str(each) for each in problems]


def test_reads():
    obj = make(uid="1", labels={"a": "b"}, generation=3, resourceVersion="5")
    assert meta.key(obj) == "b/a"
    assert meta.key({"metadata": {"name": "a"}}) == "a"
    assert (meta.name(obj), meta.namespace(obj), meta.uid(obj)) == ("a", "b", "1")
    assert (meta.generation(obj), meta.resource_version(obj)) == (3, "5")
    assert (meta.labels(obj), meta.annotations(obj), meta.finalizers(obj)) == ({"a": "b"}, {}, [])
    assert not meta.is_deleting(obj)
    assert meta.is_deleting(make(deletionTimestamp=NOW))
    assert [meta.group_of(each) for each in ("v1", "apps/v1")] == ["", "apps"]


def test_owners():
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "uid": "7"}}
    reference = meta.owner_reference(owner)
    assert reference == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "r",
        "uid": "7",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    plain = meta.owner_reference(owner, controller=False, block_deletion=False)
    assert "controller" not in plain
    assert meta.controller_of(make(ownerReferences=[plain])) is None
    assert meta.controller_of(make(ownerReferences=[plain, reference])) is reference
    assert meta.is_controlled_by(make(ownerReferences=[reference]), owner)
    assert not meta.is_controlled_by(make(), owner)
    assert meta.owners(make(ownerReferences=[plain])) == [plain]


@given(st.text("ab-", min_size=1, max_size=80), st.integers())
def test_generated_names(base, seed):
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/storage/names/generate.go:45
    made = meta.generate_name(base, random.Random(seed).choice)
    assert len(made) == min(len(base), 58) + 5
    assert base.startswith(made[:-5])
    assert set(made[-5:]) <= set(meta.SUFFIX_ALPHABET)


def test_hashes_in_names():
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/rand/rand_test.go
    assert meta.safe_encode("0123456789") == "456789bcdf"


NOW = "2026-01-01T00:00:00Z"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "n", "uid": "u"}

# v1.36.4 staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go:200
REFUSED = [
    ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
    ({"name": "", "generateName": "x-"}, "metadata.name: Required value: name or generateName is required"),
    ({"generateName": "XY-"}, 'metadata.generateName: Invalid value: "XY-": a lowercase RFC 1123 subdomain must consist'),
    ({"namespace": ""}, "metadata.namespace: Required value"),
    ({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": must not contain dots'),
    ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
    ({"labels": {"a": "x" * 64}}, f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
    ({"annotations": {"a/b/c": ""}}, 'metadata.annotations: Invalid value: "a/b/c": a valid label key must consist of'),
    ({"annotations": {"a": "é" * 131073}}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
    (
        {"ownerReferences": [{**OWNER, "apiVersion": ""}]},
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    ),
    ({"ownerReferences": [{**OWNER, "uid": ""}]}, 'metadata.ownerReferences.uid: Invalid value: "": must not be empty'),
    (
        {"ownerReferences": [{**OWNER, "kind": "Event"}]},
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: '
        "/v1, Kind=Event is disallowed from being an owner",
    ),
    ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part must consist of'),
    (
        {"finalizers": ["orphan", "foregroundDeletion"]},
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion '
        "cannot be both set",
    ),
    (
        {"managedFields": [{"operation": "Guess"}]},
        'metadata.managedFields[0].operation: Invalid value: "Guess": must be `Apply` or `Update`',
    ),
    (
        {"managedFields": [{"operation": "Apply", "fieldsType": "FieldsV2"}]},
        'metadata.managedFields[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
    ),
    (
        {"managedFields": [{"operation": "Apply", "manager": "é\n"}]},
        r'metadata.managedFields[0].manager: Invalid value: "é\n": invalid character U+000A (at position 2)',
    ),
]


@pytest.mark.parametrize(("fields", "problem"), REFUSED)
def test_refuses(fields, problem):
    problems = told(meta.validate_meta(make(**fields), True, None))
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_two_controllers():
    owners = [{**OWNER, "controller": True}, {**OWNER, "name": "m", "controller": True}]
    (problem,) = told(meta.validate_meta(make(ownerReferences=owners), True, None))
    assert problem.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for Pod/n and Pod/m'
    )


def test_accepts():
    obj = make(
        labels={"example.com/a": "b", "c": ""},
        annotations={"Example.com/A": "anything"},
        ownerReferences=[OWNER],
        finalizers=["foregroundDeletion", "example.com/x"],
        managedFields=[{"operation": "Apply", "fieldsType": "FieldsV1", "manager": "me"}],
        generateName="a-",
        generation=1,
    )
    assert told(meta.validate_meta(obj, True, None)) == []
    assert told(meta.validate_meta({"metadata": {"name": "a:b"}}, False, validators.path_segment)) == []
    assert told(meta.validate_meta({"metadata": {"name": "a:b", "generateName": ".."}}, False, validators.path_segment)) == []
    assert told(meta.validate_meta(obj, False, None)) == ["metadata.namespace: Forbidden: not allowed on this type"]


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go:290
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ({}, {"resourceVersion": ""}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"generation": 2}, {"generation": 1}, "metadata.generation: Invalid value: 1: must not be decremented"),
        ({}, {"name": "c"}, 'metadata.name: Invalid value: "c": field is immutable'),
        ({"uid": "1"}, {}, 'metadata.uid: Invalid value: "": field is immutable'),
        (
            {"creationTimestamp": NOW},
            {},
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
        ),
        (
            {"deletionTimestamp": NOW},
            {"deletionTimestamp": NOW, "finalizers": ["b", "a"]},
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"a", "b"}',
        ),
    ],
)
def test_refuses_updates(old, new, problem):
    assert told(meta.validate_meta_update(make(**{"resourceVersion": "1", **new}), make(**old))) == [problem]


def test_checks_the_rest_of_an_update_like_a_create():
    same = [
        fields for fields, _ in REFUSED if next(iter(fields)) in ("labels", "annotations", "ownerReferences", "managedFields")
    ]
    for fields in same:
        new = make(**fields, resourceVersion="1")
        assert told(meta.validate_meta_update(new, make())) == told(meta.validate_meta(new, True, None))
    assert same
