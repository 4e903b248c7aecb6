"""Field tracking. Authority: v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal and its tests, and
vendor/sigs.k8s.io/structured-merge-diff/v6."""

import pytest

from tiphys.machinery.patch import managed
from tiphys.machinery.patch.managed import Reset
from tiphys.machinery.schema import Node
from tiphys.machinery.tree import copy

POD = "io.k8s.api.core.v1.Pod"
CONFIG_MAP = "io.k8s.api.core.v1.ConfigMap"
MAIN = Reset({"f:status": {}})


def config_map(data, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n", **meta}, "data": data}


def entry(manager, fields, operation="Update", time=0, api_version="v1", **more):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": f"1970-01-01T00:00:{time:02}Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def data(*names, whole=False):
    return {"f:data": {**({".": {}} if whole else {}), **{f"f:{name}": {} for name in names}}}


@pytest.fixture(scope="module")
def node(schemas):
    return schemas.node(CONFIG_MAP)


def stored(tree, entries):
    return {**tree, "metadata": {**tree["metadata"], "uid": "u", "managedFields": entries}}


def test_create_of_a_pod(schemas):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "labels": {"app": "x"}, "finalizers": ["a/b"]},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "ports": [{"containerPort": 443, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP"}],
                    "args": ["x"],
                }
            ],
            "nodeSelector": {"a": "b"},
            "securityContext": {},
        },
        "status": {"phase": "Pending"},
    }
    # `.spec` is no member: the pod that is not there yet has one. `resources` is: a container always has it.
    assert managed.track_update(pod, None, "kubectl", "v1", schemas.node(POD), 7.9, reset=MAIN) == [
        entry(
            "kubectl",
            {
                "f:metadata": {"f:finalizers": {".": {}, 'v:"a/b"': {}}, "f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:args": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                'k:{"containerPort":80,"protocol":"TCP"}': {
                                    ".": {},
                                    "f:containerPort": {},
                                    "f:protocol": {},
                                },
                                'k:{"containerPort":443,"protocol":"TCP"}': {
                                    ".": {},
                                    "f:containerPort": {},
                                    "f:protocol": {},
                                },
                            },
                            "f:resources": {},
                        }
                    },
                    "f:nodeSelector": {},
                    "f:securityContext": {},
                },
            },
            time=7,
        )
    ]


def test_order_is_canonical(schemas):
    ports = [{"containerPort": port, "protocol": "TCP"} for port in (443, 80)]
    pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "ports": ports}]}}
    listed = managed.track_update(pod, None, "m", "v1", schemas.node(POD), 0)[0]["fieldsV1"]
    container = listed["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert list(container) == [".", "f:name", "f:ports", "f:resources"]
    assert list(container["f:ports"])[1] == 'k:{"containerPort":80,"protocol":"TCP"}'


def test_create_of_an_unknown_kind():
    # An object without a schema: what its maps hold is deduced, and nothing of it was there before.
    tree = {"apiVersion": "e/v1", "kind": "E", "metadata": {"name": "e"}, "spec": {"a": {"b": 1}, "c": [{"d": 1}]}}
    assert managed.track_update(tree, None, "", "e/v1", Node("any"), 1) == [
        entry(
            "unknown",
            {"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:c": {}}},
            time=1,
            api_version="e/v1",
        )
    ]


UPDATES = {
    # managedfieldsupdater.go: the time moves only with the fields.
    "nothing changed": (
        {"a": "1"},
        {"a": "1"},
        [entry("x", data("a", whole=True))],
        [entry("x", data("a", whole=True))],
    ),
    "own field changed": (
        {"a": "1"},
        {"a": "2"},
        [entry("me", data("a", whole=True), time=3)],
        [entry("me", data("a", whole=True), time=9)],
    ),
    "field taken": (
        {"a": "1", "b": "1"},
        {"a": "2", "b": "1"},
        [entry("x", data("a", "b"))],
        [entry("x", data("b")), entry("me", data("a"), time=9)],
    ),
    "last field taken": ({"a": "1"}, {"a": "2"}, [entry("x", data("a"))], [entry("me", data("a"), time=9)]),
    "field removed": ({"a": "1", "b": "1"}, {"a": "1"}, [entry("x", data("a", "b"), time=4)], [entry("x", data("a"), time=4)]),
    "taken from an applier": (
        {"a": "1"},
        {"a": "2"},
        [entry("x", data("a"), "Apply", time=5), entry("y", data("z"), "Apply")],
        [entry("y", data("z"), "Apply"), entry("me", data("a"), time=9)],
    ),
    "an entry of a version that is gone": (
        {"a": "1"},
        {"a": "2"},
        [entry("x", data("b"), api_version="v0")],
        [entry("me", data("a"), time=9)],
    ),
}


@pytest.mark.parametrize(("old", "new", "before", "after"), UPDATES.values(), ids=UPDATES)
def test_update(node, old, new, before, after):
    live = stored(config_map(old), before)
    wanted = stored(config_map(new), before)
    kept = copy(live), copy(wanted)
    assert managed.track_update(wanted, live, "me", "v1", node, 9) == after
    assert (live, wanted) == kept


def test_untouched_entries_stay_the_same_dicts(node):
    before = [entry("x", data("a")), entry("y", data("b"))]
    after = managed.track_update(
        stored(config_map({"a": "1", "b": "2"}), before), stored(config_map({"a": "1", "b": "1"}), before), "me", "v1", node, 9
    )
    assert after[0] is before[0]
    assert [each["manager"] for each in after] == ["x", "me"]


def test_cleared_by_the_client(node):
    # fieldmanager.go decodeLiveOrNew, skipnonapplied.go
    live = stored(config_map({"a": "1"}), [entry("x", data("a"))])
    for said in ([], [{}]):
        assert managed.track_update(stored(config_map({"a": "2"}), said), live, "me", "v1", node, 9) == []
        # A subresource cannot clear them.
        kept = managed.track_update(stored(config_map({"a": "2"}), said), live, "me", "v1", node, 9, subresource="status")
        assert [each["manager"] for each in kept] == ["me"]
    silent = config_map({"a": "1"})
    assert managed.track_update(silent, live, "me", "v1", node, 9) == live["metadata"]["managedFields"]
    bad = stored(config_map({"a": "1"}), [{"manager": "x", "operation": "Sing"}])
    assert managed.track_update(bad, live, "me", "v1", node, 9) == live["metadata"]["managedFields"]


def test_untracked_objects_stay_untracked(node):
    live = stored(config_map({"a": "1"}), None)
    assert managed.track_update(stored(config_map({"a": "2"}), None), live, "me", "v1", node, 9) == []


def test_edited_by_the_client(node):
    # fieldmanager.go decodeLiveOrNew: a main write may say who owns what.
    live = stored(config_map({"a": "1"}), [entry("x", data("a"))])
    edited = stored(config_map({"a": "1"}), [entry("z", {"f:data": {"f:b": {}, "f:a": {".": {}}, "q:what": {}}})])
    assert managed.track_update(edited, live, "me", "v1", node, 9) == [entry("z", data("a", "b"))]


def test_at_most_ten_update_managers(node):
    # capmanagers.go: the two oldest of a version become one, with the younger one's time.
    before = [entry(f"m{number:02}", data(f"f{number}"), time=number) for number in range(10)]
    live = stored(config_map({f"f{number}": "" for number in range(10)}), before)
    wanted = stored(config_map({f"f{number}": "" for number in range(11)}), before)
    after = managed.track_update(wanted, live, "me", "v1", node, 30)
    assert len(after) == 10
    assert after[0] == entry("ancient-changes", data("f0", "f1"), time=1)
    assert after[-1] == entry("me", data("f10"), time=30)


def test_subresources_have_entries_of_their_own(schemas):
    node = schemas.node(POD)
    live = stored({"kind": "Pod", "metadata": {}, "spec": {}, "status": {}}, [entry("me", {"f:spec": {"f:x": {}}})])
    wanted = {**live, "status": {"phase": "Running"}}
    reset = Reset({"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}})
    after = managed.track_update(wanted, live, "me", "v1", node, 9, subresource="status", reset=reset)
    assert after[1] == entry("me", {"f:status": {"f:phase": {}}}, time=9, subresource="status")


def test_reset_fields_are_nobodys(schemas):
    node = schemas.node(POD)
    live = stored({"metadata": {}, "spec": {"containers": [{"name": "a"}]}}, [entry("x", {"f:spec": {"f:x": {}}})])
    resources = {"limits": {"cpu": "1"}}
    wanted = {**live, "spec": {"containers": [{"name": "a", "image": "i", "resources": resources}], "hostname": "h"}}
    only = Reset(only={"f:spec": {"f:containers": {"*": {"f:resources": {}}}}})
    after = managed.track_update(wanted, live, "me", "v1", node, 9, subresource="resize", reset=only)
    container = {"f:resources": {"f:limits": {".": {}, "f:cpu": {}}}}
    assert after[1]["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"a"}': container}}}


def test_lists_with_duplicates(schemas):
    # compare.go visitListItems
    node = schemas.node(POD)
    one, two = {"name": "E", "value": "1"}, {"name": "E", "value": "2"}

    def pod(*env):
        return {
            "metadata": {"uid": "u", "managedFields": [entry("x", {"f:q": {}})]},
            "spec": {"containers": [{"name": "c", "env": list(env)}]},
        }

    def tracked(old, new):
        listed = managed.track_update(new, old, "me", "v1", node, 9)
        found = [each["fieldsV1"] for each in listed if each["manager"] == "me"]
        return found and found[0]["f:spec"]["f:containers"]['k:{"name":"c"}']["f:env"]

    both = {'k:{"name":"E"}': {}}
    single = {'k:{"name":"E"}': {".": {}, "f:name": {}, "f:value": {}}}
    assert tracked(pod(one), pod(one, two)) == both
    assert tracked(pod(one, two), pod(two, one)) == both
    assert tracked(pod(one, two), pod(one)) == single
    assert tracked(pod(one, two), pod(one, two)) == []


@pytest.mark.parametrize(
    ("said", "agent", "name"),
    [
        ("me", "curl/1", "me"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "a\tb", "ab"),
        ("", "é" * 100, "é" * 64),
        ("", "", ""),
    ],
)
def test_manager_name(said, agent, name):
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go:256-290
    assert managed.manager_name(said, agent) == name


def test_times_are_kept_when_nothing_else_changed(node):
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    old = stored(config_map({"a": "1"}), [entry("x", data("a"), "Apply", time=1)])
    later = stored(config_map({"a": "1"}), [entry("x", data("a"), "Apply", time=2)])
    assert managed.keep_times(later, old)["metadata"]["managedFields"] is old["metadata"]["managedFields"]
    changed = stored(config_map({"a": "2"}), [entry("x", data("a"), "Apply", time=2)])
    assert managed.keep_times(changed, old) is changed


def test_a_schema_that_became_atomic():
    # typed/reconcile_schema.go: whoever owned a part now owns the whole.
    text = Node("string")
    atomic = Node("list", items=text, list_type="atomic")
    node = Node(
        "object",
        fields={
            "metadata": Node("object", fields={"name": text}),
            "spec": Node("object", fields={"l": atomic, "m": Node("map", items=text, atomic=True), "s": text}),
        },
    )
    spec = {"f:l": {".": {}, 'k:{"a":"b"}': {".": {}, "f:a": {}}}, "f:m": {"f:x": {}}, "f:s": {}}
    live = {
        "metadata": {"uid": "u", "managedFields": [entry("x", {"f:spec": spec})]},
        "spec": {"l": ["a"], "m": {"x": "1"}, "s": "1"},
    }
    tracked = managed.track_update({**live, "spec": {**live["spec"], "s": "2"}}, live, "me", "v1", node, 9)
    assert [each["fieldsV1"] for each in tracked] == [{"f:spec": {"f:l": {}, "f:m": {}}}, {"f:spec": {"f:s": {}}}]


def test_entries_of_other_versions_see_the_change_in_their_own(node):
    # merge/update.go: the comparison is made in the version of each entry.
    def convert(tree, version):
        assert version == "v2"
        return {"data": {"new-" + name: value for name, value in tree["data"].items()}}, node

    live = stored(config_map({"a": "1", "b": "1"}), [entry("x", data("new-a", "new-b"), api_version="v2")])
    wanted = stored(config_map({"a": "2", "b": "1"}), live["metadata"]["managedFields"])
    tracked = managed.track_update(wanted, live, "me", "v1", node, 9, convert=convert)
    assert tracked == [entry("x", data("new-b"), api_version="v2"), entry("me", data("a"), time=9)]
