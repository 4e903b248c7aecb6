"""Server-side apply. Authority: v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal and its tests, and
vendor/sigs.k8s.io/structured-merge-diff/v6/merge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch.apply import LAST_APPLIED, Applier, apply
from tiphys.machinery.tree import copy

DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"


@pytest.fixture(scope="module")
def by(schemas):
    def make(manager="me", **more):
        return Applier(manager, "apps/v1", "Deployment", schemas.node(DEPLOYMENT), **more)

    return make


def deployment(labels=None, annotations=None, **spec):
    meta = {"name": "web", "namespace": "default"}
    if labels is not None:
        meta["labels"] = labels
    if annotations is not None:
        meta["annotations"] = annotations
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, **({"spec": spec} if spec else {})}


def template(*containers):
    return {"template": {"spec": {"containers": list(containers)}}}


def stored(result):
    tree, entries = result
    return {**tree, "metadata": {**tree["metadata"], "uid": "u", "managedFields": entries}}


def owners(result):
    return {(each["manager"], each["operation"]): each["fieldsV1"] for each in result[1]}


def test_creates(by):
    result = apply(None, deployment(labels={"a": "1"}, replicas=2), by(), 5)
    assert result[0] == deployment(labels={"a": "1"}, replicas=2)
    assert result[1] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "1970-01-01T00:00:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}},
        }
    ]


def test_nothing_new_changes_nothing(by):
    live = stored(apply(None, deployment(replicas=2, **template({"name": "c", "image": "i"})), by(), 5))
    again = apply(live, deployment(replicas=2, **template({"name": "c", "image": "i"})), by(), 50)
    assert stored(again) == live
    assert again[1][0] is live["metadata"]["managedFields"][0]


def test_removes_what_it_no_longer_says(by):
    live = stored(apply(None, deployment(labels={"a": "1", "b": "2"}, replicas=2), by(), 5))
    tree, entries = apply(live, deployment(labels={"a": "1"}, paused=True), by(), 6)
    assert tree["metadata"]["labels"] == {"a": "1"}
    assert tree["spec"] == {"paused": True}
    assert entries[0]["fieldsV1"] == {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:paused": {}}}


def test_removes_the_whole_that_it_owned(by):
    live = stored(apply(None, deployment(labels={"a": "1"}, replicas=1), by(), 5))
    tree, _ = apply(live, deployment(replicas=1), by(), 6)
    assert "labels" not in tree["metadata"]


def test_leaves_what_others_own(by):
    first = stored(apply(None, deployment(labels={"a": "1"}, replicas=2), by("one"), 5))
    both = stored(apply(first, deployment(labels={"a": "1"}), by("two"), 6))
    assert [each["manager"] for each in both["metadata"]["managedFields"]] == ["two", "one"]
    tree, entries = apply(both, deployment(replicas=2), by("one"), 7)
    assert tree["metadata"]["labels"] == {"a": "1"}
    assert owners((tree, entries))["one", "Apply"] == {"f:spec": {"f:replicas": {}}}


def test_a_co_owner_that_changes_nothing_has_no_time(by):
    # managedfieldsupdater.go Apply: the time is set only if the object changed.
    first = stored(apply(None, deployment(replicas=2), by("one"), 5))
    _, entries = apply(first, deployment(replicas=2), by("two"), 6)
    assert [(each["manager"], each.get("time")) for each in entries] == [("two", None), ("one", "1970-01-01T00:00:05Z")]


def test_conflicts(by):
    live = stored(apply(None, deployment(replicas=2, **template({"name": "c", "image": "i"})), by("one"), 5))
    with pytest.raises(ApiError) as caught:
        apply(live, deployment(replicas=3), by("two"), 6)
    assert caught.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
        "reason": "Conflict",
        "details": {
            "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.replicas"}]
        },
        "code": 409,
    }
    with pytest.raises(ApiError) as caught:
        apply(live, deployment(replicas=3, **template({"name": "c", "image": "j"})), by("two"), 6)
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "one":\n'
        "- .spec.replicas\n"
        '- .spec.template.spec.containers[name="c"].image'
    )


def test_conflict_with_an_update(by):
    live = stored(apply(None, deployment(replicas=2), by("one"), 5))
    entry = {**live["metadata"]["managedFields"][0], "operation": "Update", "subresource": "scale"}
    live["metadata"]["managedFields"] = [entry]
    with pytest.raises(ApiError) as caught:
        apply(live, deployment(replicas=3), by("two"), 6)
    told = 'Apply failed with 1 conflict: conflict with "one" with subresource "scale" using apps/v1: .spec.replicas'
    assert caught.value.message == told


def test_force(by):
    live = stored(apply(None, deployment(replicas=2, paused=True), by("one"), 5))
    result = apply(live, deployment(replicas=3), by("two", force=True), 6)
    assert result[0]["spec"]["replicas"] == 3
    assert owners(result) == {
        ("one", "Apply"): {"f:spec": {"f:paused": {}}},
        ("two", "Apply"): {"f:spec": {"f:replicas": {}}},
    }


def test_untracked_objects_get_an_owner_before_the_first_apply(by):
    # skipnonapplied.go
    live = {**deployment(replicas=2), "status": {}}
    with pytest.raises(ApiError) as caught:
        apply(live, deployment(replicas=3), by(), 6)
    told = 'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas'
    assert caught.value.message == told


def test_order_of_list_elements(by):
    # typed/merge.go visitListItems
    def names(tree):
        return [each["name"] for each in tree["spec"]["template"]["spec"]["containers"]]

    def boxes(text):
        return template(*({"name": name} for name in text))

    live = stored(apply(None, deployment(**boxes("abcd")), by("one"), 5))
    for applied, expected in (("bx", "abcdx"), ("db", "acdb"), ("xa", "xabcd"), ("dcba", "dcba"), ("y", "abcdy")):
        tree, _ = apply(live, deployment(**boxes(applied)), by("two"), 6)
        assert "".join(names(tree)) == expected


def test_list_keys_have_defaults(by):
    live = stored(
        apply(None, deployment(**template({"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]})), by(), 5)
    )
    result = apply(live, deployment(**template({"name": "c", "ports": [{"containerPort": 80, "name": "http"}]})), by(), 6)
    container = result[0]["spec"]["template"]["spec"]["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "name": "http"}]


REFUSED = {
    "a list": (
        [],
        (
            400,
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: "
            "cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ),
    "nothing": (None, (400, "invalid object type: /, Kind=")),
    "empty managedFields": (
        {**deployment(), "metadata": {"name": "web", "managedFields": []}},
        (400, "metadata.managedFields must be nil"),
    ),
    "another kind": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}},
        (400, "invalid object type: /v1, Kind=Pod"),
    ),
    "managedFields": (
        {**deployment(), "metadata": {"name": "web", "managedFields": [{}]}},
        (400, "metadata.managedFields must be nil"),
    ),
    "unknown field": (
        deployment(unknownField=1),
        (
            500,
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
            ".spec.unknownField: field not declared in schema",
        ),
    ),
    "wrong types": (
        deployment(replicas="x", paused=1, **template({"name": 1})),
        (
            500,
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): errors:\n"
            "  .spec.replicas: expected numeric (int or float), got string\n"
            "  .spec.paused: expected boolean, got &{1}\n"
            "  .spec.template.spec.containers[name=1].name: expected string, got &value.valueUnstructured{Value:1}",
        ),
    ),
    "duplicates": (
        deployment(**template({"name": "a"}, {"name": "a"})),
        (
            500,
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
    ),
    "no key": (
        deployment(**template({"image": "a"})),
        (
            500,
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
            ".spec.template.spec.containers: element 0: associative list with keys has an element that omits all key fields "
            '["name"] (and doesn\'t have default values for any key fields)',
        ),
    ),
}


@pytest.mark.parametrize(("applied", "expected"), REFUSED.values(), ids=REFUSED)
def test_refuses(by, applied, expected):
    with pytest.raises(ApiError) as caught:
        apply(None, applied, by(), 5)
    assert (caught.value.code, caught.value.message) == expected


def test_kubectl_overrules_itself(by):
    # lastappliedmanager.go: fields still as the last-applied annotation says are kubectl's to change.
    config = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2,"paused":true}}'
    live = stored(apply(None, deployment(annotations={LAST_APPLIED: config}, replicas=2, paused=False), by("client"), 5))
    kept = copy(live)
    tree, _ = apply(live, deployment(replicas=3), by("kubectl"), 6)
    assert tree["spec"] == {"replicas": 3, "paused": False}
    # lastappliedupdater.go: and the annotation follows.
    assert tree["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":3}}\n'
    )
    with pytest.raises(ApiError) as caught:
        apply(live, deployment(replicas=3, paused=True), by("kubectl"), 6)
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "client": .spec.paused'
    assert live == kept


NAMES = st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=4)
CONFIGS = st.builds(
    lambda labels, names, replicas: deployment(
        labels=dict.fromkeys(labels, "1"),
        **({"replicas": replicas} if replicas else {}),
        **template(*({"name": name, "image": str(replicas)} for name in names)),
    ),
    NAMES,
    NAMES,
    st.integers(0, 2),
)


@given(CONFIGS, CONFIGS, CONFIGS)
def test_never(by, first, second, third):
    live = stored(apply(None, first, by("one"), 1))
    for config, manager in ((second, "two"), (third, "one")):
        before, kept = live, copy(live)
        live = stored(apply(before, config, by(manager, force=True), 2))
        # An apply never changes its arguments, ...
        assert before == kept
        # ... never leaves out what it was told, ...
        said = {each["name"]: each for each in config["spec"]["template"]["spec"]["containers"]}
        held = {each["name"]: each for each in live["spec"].get("template", {}).get("spec", {}).get("containers", [])}
        assert {name: held[name] for name in said} == said
        # ... and never does anything the second time.
        assert stored(apply(live, config, by(manager), 3)) == live
