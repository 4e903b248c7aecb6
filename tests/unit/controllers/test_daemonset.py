"""The decisions of DaemonSets. v1.36.4 pkg/controller/daemon/daemon_controller.go, update.go."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.controllers import history
from tiphys.controllers.daemonset import DaemonSetController, World
from tiphys.controllers.daemonset.placing import fit_of, node_of, pod_for
from tiphys.controllers.plan import Create, Delete, Emit, Patch, Plan, Update
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

NOW = 1_800_000_000.0
LABELS = {"app": "log"}


def daemon_set(image: str = "one", pod: Obj | None = None, strategy: Obj | None = None, **spec: Any) -> Obj:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": image}], **(pod or {})}}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    whole = {"selector": {"matchLabels": LABELS}, "template": template, "updateStrategy": strategy or rolling, **spec}
    metadata = {"name": "log", "namespace": "default", "uid": "set", "generation": 1}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": whole}


def node(name: str, *taints: str, labels: Obj | None = None) -> Obj:
    listed = [dict(zip(("key", "effect"), taint.split(":"), strict=True)) for taint in taints]
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": listed}}


def revision(owner: Obj, number: int = 1) -> Obj:
    digest = history.digest(history.data_of(owner), 0)
    made = history.create(DAEMONSETS, owner, digest, history.HASH_LABEL, number).obj
    return {**made, "metadata": {**made["metadata"], "uid": meta.name(made)}}


def digest(owner: Obj) -> str:
    return meta.labels(revision(owner))[history.HASH_LABEL]


def pod(owner: Obj, on: str, state: str = "ready", name: str = "", since: float = NOW - 100, bound: bool = True) -> Obj:
    made = pod_for(owner, on, digest(owner))
    named = name or f"{on}-{digest(owner)}"
    metadata = {**made["metadata"], "name": named, "uid": named, "creationTimestamp": times.rfc3339(since)}
    if state == "leaving":
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    phases = {"pending": "Pending", "failed": "Failed", "succeeded": "Succeeded"}
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": times.rfc3339(since)}]
    status = {"phase": phases.get(state, "Running"), "conditions": ready if state == "ready" else []}
    spec = {**made["spec"], "nodeName": on} if bound else made["spec"]
    return {**made, "metadata": metadata, "spec": spec, "status": status}


def plan(owner: Obj, nodes: list[Obj], pods: list[Obj], revisions: list[Obj] | None = None, **waits: float) -> Plan:
    past = [revision(owner)] if revisions is None else revisions
    return DaemonSetController.reconcile(World(owner, tuple(nodes), tuple(pods), tuple(past), None, waits, NOW))


def created(made: Plan) -> list[str]:
    return [node_of(write.obj) for write in made.writes if isinstance(write, Create)]


def deleted(made: Plan) -> list[str]:
    return [meta.name(write.obj) for write in made.writes if isinstance(write, Delete)]


def status(made: Plan) -> Obj:
    (found,) = (write.obj["status"] for write in made.writes if isinstance(write, Update) and write.subresource)
    return found


AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("template", "where", "starts", "stays"),
    [
        ({}, node("a"), True, True),
        ({"nodeName": "b"}, node("a"), False, False),
        ({"nodeName": "a"}, node("a"), True, True),
        ({"nodeSelector": {"disk": "ssd"}}, node("a"), False, False),
        ({"nodeSelector": {"disk": "ssd"}}, node("a", labels={"disk": "ssd"}), True, True),
        ({"affinity": AFFINITY}, node("a", labels={"disk": "hdd"}), False, False),
        ({"affinity": AFFINITY}, node("a", labels={"disk": "ssd"}), True, True),
        ({}, node("a", "gpu:NoSchedule"), False, True),
        ({}, node("a", "gpu:NoExecute"), False, False),
        ({}, node("a", "gpu:PreferNoSchedule"), True, True),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, node("a", "gpu:NoExecute"), True, True),
        # The troubles of a node are no trouble.
        ({}, node("a", "node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute"), True, True),
        (
            {},
            node("a", "node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"),
            True,
            True,
        ),
        ({}, node("a", "node.kubernetes.io/network-unavailable:NoSchedule"), False, True),
        ({"hostNetwork": True}, node("a", "node.kubernetes.io/network-unavailable:NoSchedule"), True, True),
    ],
)
def test_where_a_daemon_may_run(template: Obj, where: Obj, starts: bool, stays: bool):
    fit = fit_of(daemon_set(pod=template))
    assert (fit.starts_on(where), fit.stays_on(where)) == (starts, stays)


def test_a_pod_asks_for_its_node_and_endures_its_troubles():
    owner = daemon_set(
        pod={"affinity": AFFINITY, "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}
    )
    owner["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "3"}
    made = pod_for(owner, "a", "digest")
    terms = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    assert (node_of(made), made["metadata"]["generateName"]) == ("a", "log-")
    assert made["metadata"]["labels"] == {**LABELS, "controller-revision-hash": "digest", "pod-template-generation": "3"}
    listed = [(each["key"].rpartition("/")[2], each.get("effect")) for each in made["spec"]["tolerations"]]
    assert listed == [
        ("not-ready", None),
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ]


def test_every_node_gets_its_pod_once_there_is_a_revision():
    owner, nodes = daemon_set(), [node("a"), node("b"), node("c", "gpu:NoSchedule")]
    (create,) = plan(owner, nodes, [], []).writes
    assert isinstance(create, Create)
    assert (create.obj["revision"], create.obj["data"]["spec"]["template"]["$patch"]) == (1, "replace")
    made = plan(owner, nodes, [pod(owner, "a")])
    assert (created(made), deleted(made)) == (["b"], [])
    assert status(made) == {
        "desiredNumberScheduled": 2,
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "numberUnavailable": 1,
        "observedGeneration": 1,
    }


@pytest.mark.parametrize(
    ("where", "states", "creates", "deletes"),
    [
        (node("a"), ["ready"], [], []),
        # Where none should start, one that runs may stay, or must go.
        (node("a", "gpu:NoSchedule"), ["ready"], [], []),
        (node("a", "gpu:NoExecute"), ["ready"], [], ["a-0"]),
        (node("a", "gpu:NoExecute"), ["leaving"], [], []),
        # It comes anew only when the last one is gone.
        (node("a"), ["leaving"], [], []),
        (node("a"), ["failed"], [], ["a-0"]),
        (node("a"), ["succeeded"], [], ["a-0"]),
        # Of two, the older one stays.
        (node("a"), ["ready", "ready"], [], ["a-1"]),
    ],
)
def test_each_node_is_put_right(where: Obj, states: list[str], creates: list[str], deletes: list[str]):
    owner = daemon_set()
    pods = [pod(owner, "a", state, f"a-{at}", NOW - 100 + at) for at, state in enumerate(states)]
    made = plan(owner, [where], pods)
    assert (created(made), deleted(made)) == (creates, deletes)


def test_one_that_waits_for_a_node_that_is_gone_goes():
    owner = daemon_set()
    made = plan(owner, [], [pod(owner, "gone", "pending", bound=False), pod(owner, "lost", "ready")])
    assert deleted(made) == [f"gone-{digest(owner)}"]


def test_a_failed_pod_is_told_and_then_ended_later_and_later():
    owner = daemon_set()
    made = plan(owner, [node("a")], [pod(owner, "a", "failed", "f")])
    (told,) = (write.note for write in made.writes if isinstance(write, Emit))
    assert (told.reason, told.type) == ("FailedDaemonPod", "Warning")
    assert told.message == "Found failed daemon pod default/f on node a, will try to kill it"
    made = plan(owner, [node("a")], [pod(owner, "a", "failed", "f")], f=4.0)
    assert (deleted(made), made.again_in) == ([], 4.0)


UNAVAILABLE = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "maxSurge": 0}}


@pytest.mark.parametrize(
    ("strategy", "olds", "news", "deletes"),
    [
        (None, {"a": "ready", "b": "ready", "c": "ready"}, {}, ["a"]),
        (None, {"a": "ready", "b": "ready"}, {"c": "pending"}, []),
        # An old pod that serves nobody goes at once, and is the one that may be away.
        (None, {"a": "ready", "b": "pending", "c": "ready"}, {}, ["b"]),
        (None, {"a": "ready", "b": "pending", "c": "pending"}, {}, ["b", "c"]),
        (UNAVAILABLE, {"a": "ready", "b": "ready", "c": "ready"}, {}, ["a", "b"]),
        (UNAVAILABLE, {"a": "ready", "b": "ready"}, {"c": "pending"}, ["a"]),
        ({"type": "OnDelete"}, {"a": "ready", "b": "ready", "c": "ready"}, {}, []),
    ],
)
def test_an_update_ends_as_many_as_may_be_away(strategy: Obj | None, olds: Obj, news: Obj, deletes: list[str]):
    old, new = daemon_set("one", strategy=strategy), daemon_set("two", strategy=strategy)
    pods = [pod(old, on, state, on) for on, state in olds.items()] + [pod(new, on, state, on) for on, state in news.items()]
    made = plan(new, [node("a"), node("b"), node("c")], pods, [revision(old, 1), revision(new, 2)])
    assert (created(made), deleted(made)) == ([], deletes)


@pytest.mark.parametrize(
    ("surge", "olds", "news", "creates", "deletes"),
    [
        (1, {"a": "ready", "b": "ready", "c": "ready"}, {}, ["a"], []),
        ("50%", {"a": "ready", "b": "ready", "c": "ready"}, {}, ["a", "b"], []),
        (1, {"a": "ready", "b": "ready", "c": "ready"}, {"a": "pending"}, [], []),
        (1, {"a": "ready", "b": "ready", "c": "ready"}, {"a": "ready"}, [], ["a-old"]),
        # An old pod that serves nobody takes no part in the count.
        (1, {"a": "ready", "b": "pending", "c": "ready"}, {}, ["b", "a"], []),
        (1, {"a": "pending", "b": "ready", "c": "ready"}, {"a": "pending"}, [], ["a-old"]),
    ],
)
def test_an_update_with_surge_puts_the_new_beside_the_old(
    surge: Any, olds: Obj, news: Obj, creates: list[str], deletes: list[str]
):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": surge}}
    old, new = daemon_set("one", strategy=strategy), daemon_set("two", strategy=strategy)
    pods = [pod(old, on, state, f"{on}-old") for on, state in olds.items()]
    pods += [pod(new, on, state, f"{on}-new") for on, state in news.items()]
    made = plan(new, [node("a"), node("b"), node("c")], pods, [revision(old, 1), revision(new, 2)])
    assert (created(made), deleted(made)) == (creates, deletes)


def test_with_surge_a_misplaced_pod_waits_for_its_successor():
    """update.go: "Only delete a pod on node A when a pod on node B becomes available"."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    old, new = daemon_set("one", strategy=strategy), daemon_set("two", strategy=strategy)
    nodes, past = [node("a", "gpu:NoSchedule"), node("b")], [revision(old, 1), revision(new, 2)]
    assert deleted(plan(new, nodes, [pod(old, "a", name="a"), pod(new, "b", "pending", "b")], past)) == []
    assert deleted(plan(new, nodes, [pod(old, "a", name="a"), pod(new, "b", "ready", "b")], past)) == ["a"]


def test_history_is_made_single_and_named_and_kept_short():
    owner = daemon_set(revisionHistoryLimit=1)
    past = [revision(daemon_set(str(number)), number) for number in range(1, 4)]
    used = pod(daemon_set("1"), "a", name="a")
    made = plan(owner, [node("a")], [used], [*past, revision(owner, 4)])
    gone = [write.obj for write in made.writes if isinstance(write, Delete)]
    assert [each["revision"] for each in gone if "data" in each] == [2, 3]
    # Going back numbers the old one anew.
    (update,) = plan(daemon_set("2"), [], [], past).writes
    assert isinstance(update, Update)
    assert (meta.name(update.obj), update.obj["revision"]) == (meta.name(past[1]), 4)
    # Two of one template: the pods of the one that goes get the other's label.
    double = {
        **revision(owner, 7),
        "metadata": {**revision(owner)["metadata"], "name": "x", "labels": {history.HASH_LABEL: "x"}},
    }
    double["metadata"]["labels"] |= LABELS
    patch, delete = plan(owner, [node("a")], [pod(owner, "a")], [revision(owner, 4), double]).writes
    assert isinstance(patch, Patch)
    assert patch.patch["metadata"]["labels"] == {history.HASH_LABEL: "x"}
    assert isinstance(delete, Delete)
    assert meta.name(delete.obj) == meta.name(revision(owner))


def test_one_that_is_being_deleted_is_left_alone():
    owner = daemon_set()
    owner["metadata"]["deletionTimestamp"] = times.rfc3339(NOW)
    assert plan(owner, [node("a")], []).writes == ()


places = st.dictionaries(
    st.sampled_from("abcde"), st.tuples(st.booleans(), st.sampled_from(["ready", "pending", "failed", "leaving"]))
)


@given(places, st.integers(1, 3), st.booleans())
def test_it_comes_to_rest_with_one_new_pod_on_each_node(placed: dict[str, tuple[bool, str]], most: int, surging: bool):
    """Never more than `most` new pods beside old ones that serve, never more than `most` away that served. At rest: nothing
    to do."""
    limits = {"maxUnavailable": 0 if surging else most, "maxSurge": most if surging else 0}
    strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
    old, new = daemon_set("one", strategy=strategy), daemon_set("two", strategy=strategy)
    past, nodes = [revision(old, 1), revision(new, 2)], [node(name) for name in "abcde"]
    pods = [pod(new if is_new else old, on, state) for on, (is_new, state) in placed.items()]
    for _ in range(30):
        made = plan(new, nodes, pods, past)
        serving = {node_of(each) for each in pods if each["status"]["conditions"] and not meta.is_deleting(each)}
        gone = {meta.uid(write.obj) for write in made.writes if isinstance(write, Delete)}
        pods = [each for each in pods if meta.uid(each) not in gone] + [pod(new, on, "pending") for on in created(made)]
        now_serving = {node_of(each) for each in pods if each["status"]["conditions"] and not meta.is_deleting(each)}
        assert len(serving - now_serving) <= (0 if surging else most)
        both = [on for on in "abcde" if sum(node_of(each) == on and not meta.is_deleting(each) for each in pods) > 1]
        assert len([on for on in both if on in serving]) <= (most if surging else 0)
        for write in made.writes:
            if isinstance(write, Update) and write.subresource:
                new = {**new, "status": write.obj["status"]}
        if not gone and not created(made):
            settled = [
                {**each, "status": pod(new, "a")["status"]} if each["status"]["phase"] == "Pending" else each
                for each in pods
                if not meta.is_deleting(each)
            ]
            if settled == pods:
                break
            pods = settled
    assert sorted(node_of(each) for each in pods) == list("abcde")
    assert all(meta.labels(each)[history.HASH_LABEL] == digest(new) for each in pods)
    assert plan(new, nodes, pods, past).writes == ()


def test_a_revision_holds_the_bytes_that_upstream_compares():
    # v1.36.4 pkg/controller/daemon/update.go, Match and getPatch: JSON with the keys in order.
    written = orjson.dumps(revision(daemon_set())["data"])
    template = b'"metadata":{"labels":{"app":"log"}},"spec":{"containers":[{"image":"one","name":"c"}]}'
    assert written == b'{"spec":{"template":{"$patch":"replace",%s}}}' % template
