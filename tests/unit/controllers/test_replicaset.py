"""The decisions of ReplicaSets. v1.36.4 pkg/controller/replicaset/replica_set.go."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.controllers.plan import Adopt, Create, Delete, Failure, Release, Update
from tiphys.controllers.replicaset import ReplicaSetController, World
from tiphys.machinery import times
from tiphys.machinery.errors import forbidden

NOW = 1_800_000_000.0


def replicaset(replicas=2, min_ready=0, **metadata):
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default", "uid": "rs", "generation": 1, **metadata},
        "spec": {
            "replicas": replicas,
            "minReadySeconds": min_ready,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}},
        },
    }


def pod(name, phase="Running", *, ready=None, mine=True, labels=None, deleting=False):
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels or {"app": "web"}}
    metadata["creationTimestamp"] = times.rfc3339(NOW - 100)
    if mine:
        metadata["ownerReferences"] = [{"uid": "rs", "controller": True}]
    if deleting:
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    conditions = []
    if ready is not None:
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": times.rfc3339(ready)})
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase, "conditions": conditions}}


def plan(rs, *pods, failure=None):
    return ReplicaSetController.reconcile(World(REPLICASETS, rs, pods, pods, failure, NOW))


def of(kind, made):
    return [write for write in made.writes if isinstance(write, kind)]


def status(made):
    (update,) = of(Update, made)
    return update.obj["status"]


def test_it_creates_what_is_missing():
    (create,) = of(Create, plan(replicaset(3), pod("a")))
    assert create.times == 2
    assert create.obj["metadata"]["generateName"] == "web-"
    (owner,) = create.obj["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == ("rs", True, True)


def test_finished_and_leaving_pods_do_not_count():
    made = plan(replicaset(2), pod("a", "Failed"), pod("b", deleting=True), pod("c"))
    assert of(Create, made)[0].times == 1
    assert (status(made)["replicas"], status(made)["terminatingReplicas"]) == (1, 1)


def test_the_least_useful_pod_goes_first():
    made = plan(replicaset(1), pod("ready", ready=NOW - 50), pod("pending", "Pending"))
    assert [write.obj["metadata"]["name"] for write in of(Delete, made)] == ["pending"]


def test_it_adopts_what_it_selects_and_releases_what_it_does_not():
    made = plan(replicaset(1), pod("orphan", mine=False), pod("stray", labels={"app": "other"}))
    assert [write.obj["metadata"]["name"] for write in of(Adopt, made)] == ["orphan"]
    assert [write.obj["metadata"]["name"] for write in of(Release, made)] == ["stray"]
    assert not of(Create, made)


def test_one_that_is_being_deleted_only_reports():
    made = plan(replicaset(3, deletionTimestamp="2027-01-15T08:00:00Z"), pod("orphan", mine=False))
    assert [type(write) for write in made.writes] == [Update]


def test_availability_comes_with_time():
    made = plan(replicaset(1, min_ready=60), pod("a", ready=NOW - 20))
    assert (status(made)["readyReplicas"], status(made).get("availableReplicas", 0), made.again_in) == (1, 0, 40)
    assert status(plan(replicaset(1, min_ready=60), pod("a", ready=NOW - 60)))["availableReplicas"] == 1


def test_a_refusal_is_reported_before_the_next_try():
    refused = Failure(Create(REPLICASETS, {}), forbidden("", "pods", "web-1", "exceeded quota"))
    made = plan(replicaset(1), failure=refused)
    assert [type(write) for write in made.writes] == [Update, Create]
    (condition,) = status(made)["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "exceeded quota" in condition["message"]


def named(made, name):
    return {**made, "metadata": {**made["metadata"], "uid": name, "name": name}}


some_pods = st.lists(
    st.builds(
        lambda phase, ready, mine, fits, leaving: pod(
            "x",
            phase,
            ready=NOW - 10 if ready else None,
            mine=mine,
            labels={"app": "web" if fits else "other"},
            deleting=leaving,
        ),
        st.sampled_from(["Pending", "Running", "Failed"]),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    max_size=6,
).map(
    lambda listed: [{**each, "metadata": {**each["metadata"], "uid": str(n), "name": str(n)}} for n, each in enumerate(listed)]
)


@given(st.integers(0, 4), some_pods)
def test_a_second_look_at_the_result_has_nothing_to_do(replicas, pods):
    """And the number of pods is never above what is wanted."""
    # Orphans that it would not select never come into its world.
    pods = [each for each in pods if each["metadata"].get("ownerReferences") or each["metadata"]["labels"]["app"] == "web"]
    rs, made = replicaset(replicas), plan(replicaset(replicas), *pods)
    gone = {write.obj["metadata"]["uid"] for write in (*of(Delete, made), *of(Release, made))}
    left = [each for each in pods if each["metadata"]["uid"] not in gone]
    left = [{**each, "metadata": {**each["metadata"], "ownerReferences": [{"uid": "rs", "controller": True}]}} for each in left]
    left += [pod(f"new-{n}", "Pending") for create in of(Create, made) for n in range(create.times)]
    again = plan(rs, *left)
    rs = {**rs, "status": status(again)} if of(Update, again) else rs
    assert plan(rs, *left).writes == ()
    assert not of(Create, again)
    assert not of(Delete, again)
    alive = [each for each in left if each["status"]["phase"] != "Failed" and not each["metadata"].get("deletionTimestamp")]
    assert len(alive) == replicas
