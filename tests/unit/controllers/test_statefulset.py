"""The decisions of StatefulSets. v1.36.4 pkg/controller/statefulset/stateful_set_control.go, stateful_set_utils.go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.controllers import history
from tiphys.controllers.plan import Adopt, Create, Delete, Emit, Plan, Release, Update
from tiphys.controllers.statefulset import StatefulSetController, World, identity, retention
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

NOW = 1_800_000_000.0
LABELS = {"app": "db"}


def stateful_set(replicas: int = 3, *, image: str = "one", status: Obj | None = None, **spec: Any) -> Obj:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": image}]}}
    given_spec = {
        "replicas": replicas,
        "serviceName": "svc",
        "selector": {"matchLabels": LABELS},
        "template": template,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        **spec,
    }
    metadata = {"name": "db", "namespace": "default", "uid": "set", "generation": 1}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": given_spec, "status": status or {}}


def revision(owner: Obj, number: int = 1) -> Obj:
    made = history.create(
        STATEFULSETS, owner, history.digest(history.data_of(owner), 0), "controller.kubernetes.io/hash", number
    )
    return {**made.obj, "metadata": {**made.obj["metadata"], "uid": meta.name(made.obj)}}


def pod(owner: Obj, number: int, past: Obj, state: str = "ready", since: float = NOW - 100) -> Obj:
    """`state`: ready, running, pending, failed, succeeded, leaving."""
    made = identity.new_pod(owner, history.template_of(past), meta.name(past), number)
    phases = {"pending": "Pending", "failed": "Failed", "succeeded": "Succeeded"}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": times.rfc3339(since)}]
    metadata = {**made["metadata"], "uid": f"pod-{number}-{meta.name(past)}"}
    if state == "leaving":
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    status = {"phase": phases.get(state, "Running"), "conditions": conditions if state in ("ready", "leaving") else []}
    return {**made, "metadata": metadata, "status": status}


def plan(owner: Obj, pods: list[Obj], revisions: list[Obj] | None = None, claims: list[Obj] | None = None) -> Plan:
    past = [revision(owner)] if revisions is None else revisions
    named = {meta.name(each): each for each in claims or ()}
    return StatefulSetController.reconcile(World(owner, tuple(pods), tuple(past), named, None, NOW))


def names(kind: type, made: Plan) -> list[str]:
    return [meta.name(write.obj) for write in made.writes if isinstance(write, kind) and write.kind is not STATEFULSETS]


def status(made: Plan) -> Obj:
    (found,) = (write.obj["status"] for write in made.writes if isinstance(write, Update) and write.subresource)
    return found


def test_first_a_revision_then_the_pods():
    owner = stateful_set()
    made = plan(owner, [], [])
    (create,) = made.writes
    assert isinstance(create, Create)
    assert create.obj["revision"] == 1
    assert create.obj["data"]["spec"]["template"]["$patch"] == "replace"
    assert names(Create, plan(owner, [])) == ["db-0"]


def test_a_pod_has_its_number_everywhere():
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    made = plan(stateful_set(ordinals={"start": 5}, volumeClaimTemplates=[claim]), [])
    creates = [write.obj for write in made.writes if isinstance(write, Create)]
    assert [meta.name(each) for each in creates] == ["data-db-5", "db-5"]
    assert creates[0]["metadata"]["labels"] == LABELS
    labels = creates[1]["metadata"]["labels"]
    assert (labels["statefulset.kubernetes.io/pod-name"], labels["apps.kubernetes.io/pod-index"]) == ("db-5", "5")
    assert labels["controller-revision-hash"].startswith("db-")
    spec = creates[1]["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("db-5", "svc")
    assert spec["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-5"}}]


@pytest.mark.parametrize(
    ("states", "created", "deleted"),
    [
        # In order: one at a time, and only once all before it are available.
        (["ready"], ["db-1"], []),
        (["running"], [], []),
        (["pending"], [], []),
        (["ready", "pending"], [], []),
        (["ready", "ready"], ["db-2"], []),
        # However it ended.
        (["failed"], [], ["db-0"]),
        (["ready", "succeeded", "ready"], [], ["db-1"]),
        (["leaving"], [], []),
        # A hole is filled before anything else happens.
        (["ready", None, "ready"], ["db-1"], []),
        # Beyond the size: the highest goes first, alone, and waits for those below to be well.
        (["ready"] * 5, [], ["db-4"]),
        (["ready", "running", "ready", "ready"], [], []),
        (["ready", "ready", "ready", "ready", "leaving"], [], []),
        (["ready", "ready", "ready", "running", "ready"], [], ["db-4"]),
        (["ready", "ready", "ready", "ready", "running"], [], ["db-4"]),
        (["ready", "ready", "ready", "running", "running"], [], []),
    ],
)
def test_one_after_the_other(states: list[str | None], created: list[str], deleted: list[str]):
    owner = stateful_set()
    past = revision(owner)
    made = plan(owner, [pod(owner, at, past, state) for at, state in enumerate(states) if state])
    assert (names(Create, made), names(Delete, made)) == (created, deleted)


@pytest.mark.parametrize(
    ("states", "created", "deleted"),
    [
        ([], ["db-0", "db-1", "db-2"], []),
        (["pending", None, "failed"], ["db-1"], ["db-2"]),
        (["leaving", "ready", "ready", "ready", "running"], [], ["db-4", "db-3"]),
    ],
)
def test_all_at_once(states: list[str | None], created: list[str], deleted: list[str]):
    owner = stateful_set(podManagementPolicy="Parallel")
    past = revision(owner)
    made = plan(owner, [pod(owner, at, past, state) for at, state in enumerate(states) if state])
    assert (names(Create, made), names(Delete, made)) == (created, deleted)


ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}


@pytest.mark.parametrize(
    ("strategy", "policy", "olds", "states", "deleted"),
    [
        (ROLLING, "OrderedReady", "ooo", ["ready"] * 3, ["db-2"]),
        (ROLLING, "OrderedReady", "oon", ["ready"] * 3, ["db-1"]),
        (ROLLING, "OrderedReady", "oon", ["ready", "ready", "pending"], []),
        (ROLLING, "Parallel", "oon", ["ready", "ready", "pending"], []),
        # One that is of no use anyway may go although it is sick.
        (ROLLING, "Parallel", "ooo", ["ready", "ready", "pending"], ["db-2"]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, "OrderedReady", "ooo", ["ready"] * 3, ["db-2"]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, "OrderedReady", "oon", ["ready"] * 3, []),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 7}}, "OrderedReady", "ooo", ["ready"] * 3, []),
        ({"type": "OnDelete"}, "OrderedReady", "ooo", ["ready"] * 3, []),
        ({"type": "RollingUpdate"}, "OrderedReady", "ooo", ["ready"] * 3, ["db-2"]),
        # KEP-961.
        ({**ROLLING, "rollingUpdate": {"maxUnavailable": 2}}, "OrderedReady", "ooo", ["ready"] * 3, ["db-2", "db-1"]),
        ({**ROLLING, "rollingUpdate": {"maxUnavailable": 2}}, "Parallel", "oon", ["ready", "ready", "pending"], ["db-1"]),
        ({**ROLLING, "rollingUpdate": {"maxUnavailable": "10%"}}, "OrderedReady", "ooo", ["ready"] * 3, ["db-2"]),
        (
            {**ROLLING, "rollingUpdate": {"maxUnavailable": "67%", "partition": 2}},
            "OrderedReady",
            "ooo",
            ["ready"] * 3,
            ["db-2"],
        ),
    ],
)
def test_an_update_goes_from_the_last_to_the_first(
    strategy: Obj, policy: str, olds: str, states: list[str], deleted: list[str]
):
    old = stateful_set(podManagementPolicy=policy, updateStrategy=strategy)
    past = revision(old, 1)
    owner = stateful_set(
        image="two", podManagementPolicy=policy, updateStrategy=strategy, status={"currentRevision": meta.name(past)}
    )
    new = revision(owner, 2)
    pods = [pod(owner, at, past if which == "o" else new, states[at]) for at, which in enumerate(olds)]
    made = plan(owner, pods, [past, new])
    assert names(Delete, made) == deleted
    told = status(made)
    assert (told["currentRevision"], told["updateRevision"]) == (meta.name(past), meta.name(new))
    assert told.get("currentReplicas", 0) == olds.count("o") - len(deleted)
    assert told.get("updatedReplicas", 0) == olds.count("n")


@pytest.mark.parametrize(("partition", "image"), [(0, "two"), (1, "two"), (2, "one")])
def test_below_the_partition_a_lost_pod_comes_back_as_it_was(partition: int, image: str):
    past = revision(stateful_set(), 1)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    owner = stateful_set(image="two", updateStrategy=strategy, status={"currentRevision": meta.name(past)})
    made = plan(owner, [pod(owner, 0, past)], [past, revision(owner, 2)])
    (create,) = (write.obj for write in made.writes if isinstance(write, Create))
    assert create["spec"]["containers"][0]["image"] == image


def test_an_update_that_is_through_makes_its_revision_the_current_one():
    past = revision(stateful_set(), 1)
    owner = stateful_set(image="two", status={"currentRevision": meta.name(past)})
    new = revision(owner, 2)
    told = status(plan(owner, [pod(owner, at, new) for at in range(3)], [past, new]))
    assert told["currentRevision"] == told["updateRevision"] == meta.name(new)
    assert (told["currentReplicas"], told["updatedReplicas"], told["observedGeneration"]) == (3, 3, 1)


def test_going_back_numbers_the_old_revision_anew():
    first, second = stateful_set(), stateful_set(image="two")
    made = plan(first, [], [revision(first, 1), revision(second, 2)])
    (update,) = made.writes
    assert isinstance(update, Update)
    assert (meta.name(update.obj), update.obj["revision"]) == (meta.name(revision(first)), 3)


def test_revisions_beyond_the_limit_go_unless_a_pod_is_of_them():
    past = [revision(stateful_set(image=str(number)), number) for number in range(1, 6)]
    owner = stateful_set(image="5", revisionHistoryLimit=1, status={"currentRevision": meta.name(past[4])})
    pods = [pod(owner, 0, past[0]), pod(owner, 1, past[4]), pod(owner, 2, past[4])]
    made = plan(owner, pods, past)
    gone = [write.obj["revision"] for write in made.writes if isinstance(write, Delete) and "data" in write.obj]
    assert gone == [2, 3]


def test_a_name_that_is_taken_makes_the_next_one_another():
    owner = stateful_set()
    other = {**revision(owner), "data": {"spec": {}}}
    (update,) = StatefulSetController.reconcile(World(owner, (), (), {}, other, NOW)).writes
    assert isinstance(update, Update)
    assert update.obj["status"]["collisionCount"] == 1
    assert history.digest(history.data_of(owner), 0) != history.digest(history.data_of(owner), 1)


def test_pods_of_other_names_are_not_members():
    owner = stateful_set()
    past = revision(owner)
    strange = {**pod(owner, 0, past), "metadata": {**pod(owner, 0, past)["metadata"], "name": "other-0"}}
    made = plan(owner, [strange])
    assert [type(write) for write in made.writes] == [Release]
    assert [identity.ordinal(owner, {"metadata": {"name": each}}) for each in ("db-7", "db-07", "db-x", "dbx-1", "db")] == [
        7,
        None,
        None,
        None,
        None,
    ]


def test_an_orphan_with_the_right_name_is_adopted_and_put_right():
    owner = stateful_set(1)
    past = revision(owner)
    orphan = pod(owner, 0, past)
    bare = {key: value for key, value in orphan["metadata"].items() if key != "ownerReferences"}
    made = plan(owner, [{**orphan, "metadata": {**bare, "labels": LABELS}}])
    assert [type(write) for write in made.writes] == [Adopt]
    made = plan(owner, [{**orphan, "metadata": {**orphan["metadata"], "labels": LABELS}}])
    (update,) = (write for write in made.writes if isinstance(write, Update) and not write.subresource)
    assert update.obj["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"


def test_one_that_is_being_deleted_only_reports():
    owner = stateful_set()
    owner["metadata"]["deletionTimestamp"] = times.rfc3339(NOW)
    made = plan(owner, [pod(owner, 0, revision(owner))], None)
    assert [type(write) for write in made.writes] == [Update]
    assert plan(owner, [], []).writes == ()


def test_availability_comes_with_time():
    owner = stateful_set(2, minReadySeconds=60)
    past = revision(owner)
    made = plan(owner, [pod(owner, 0, past, since=NOW - 20)])
    assert (names(Create, made), made.again_in, status(made)["readyReplicas"]) == ([], 40, 1)
    assert status(made)["availableReplicas"] == 0
    assert names(Create, plan(owner, [pod(owner, 0, past, since=NOW - 60)])) == ["db-1"]


# Claims

CLAIMS = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


def claim(number: int, *owners: Obj, deleting: bool = False) -> Obj:
    metadata: Obj = {"name": f"data-db-{number}", "namespace": "default", "uid": f"claim-{number}"}
    if owners:
        metadata["ownerReferences"] = list(owners)
    if deleting:
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    return {"metadata": metadata, "spec": {}}


def reference(kind: str, name: str, uid: str, controller: bool = True) -> Obj:
    api = "apps/v1" if kind == "StatefulSet" else "v1"
    made: Obj = {"apiVersion": api, "kind": kind, "name": name, "uid": uid}
    return {**made, "controller": True, "blockOwnerDeletion": True} if controller else made


SET = reference("StatefulSet", "db", "set")
POD = reference("Pod", "db-0", "pod")


@pytest.mark.parametrize(
    ("scaled", "deleted", "stays", "before", "after"),
    [
        # stateful_set_utils.go isClaimOwnerUpToDate: the four policies.
        ("Retain", "Retain", True, [], None),
        ("Retain", "Retain", True, [SET], []),
        ("Retain", "Delete", True, [], [SET]),
        ("Retain", "Delete", False, [SET], None),
        ("Delete", "Retain", True, [SET], []),
        ("Delete", "Retain", False, [], [POD]),
        ("Delete", "Delete", True, [POD], [SET]),
        ("Delete", "Delete", False, [SET], [POD]),
        # An owner that is not its controller is made one.
        ("Retain", "Delete", True, [reference("StatefulSet", "db", "set", False)], [SET]),
        # What a former set or pod of this name owns is left alone.
        ("Retain", "Delete", True, [reference("StatefulSet", "db", "old")], None),
        ("Delete", "Delete", False, [reference("Pod", "db-0", "old")], None),
        # So is what somebody else manages; ours do not stand beside it.
        ("Retain", "Delete", True, [reference("Thing", "t", "t")], None),
        ("Retain", "Delete", True, [reference("Thing", "t", "t"), SET], [reference("Thing", "t", "t")]),
        ("Retain", "Delete", True, [reference("Thing", "t", "t", False)], [reference("Thing", "t", "t", False), SET]),
    ],
)
def test_the_owners_of_a_claim(scaled: str, deleted: str, stays: bool, before: list[Obj], after: list[Obj] | None):
    owner = stateful_set(persistentVolumeClaimRetentionPolicy={"whenScaled": scaled, "whenDeleted": deleted})
    member = {"metadata": {"name": "db-0", "uid": "pod"}}
    assert retention.owners(claim(0, *before), owner, member, stays=stays) == after


def test_a_claim_goes_with_the_pod_that_the_set_gives_up():
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    owner = stateful_set(1, volumeClaimTemplates=CLAIMS, persistentVolumeClaimRetentionPolicy=policy)
    past = revision(owner)
    pods = [pod(owner, at, past) for at in range(2)]
    made = plan(owner, pods, claims=[claim(0), claim(1)])
    assert [type(write) for write in made.writes] == [Update, Update, Delete]
    (update,) = (write for write in made.writes if isinstance(write, Update) and not write.subresource)
    assert meta.name(update.obj) == "data-db-1"
    assert [each["uid"] for each in update.obj["metadata"]["ownerReferences"]] == [meta.uid(pods[1])]
    # Until it is gone, no new pod takes its place.
    stale = claim(1, reference("Pod", "db-1", "former"))
    again = stateful_set(2, volumeClaimTemplates=CLAIMS, persistentVolumeClaimRetentionPolicy=policy)
    assert names(Create, plan(again, pods[:1], claims=[claim(0), stale])) == []
    assert names(Create, plan(again, pods[:1], claims=[claim(0)])) == ["data-db-1", "db-1"]


def test_a_claim_on_its_way_out_is_waited_for():
    owner = stateful_set(1, volumeClaimTemplates=CLAIMS)
    made = plan(owner, [], claims=[claim(0, deleting=True)])
    assert names(Create, made) == []
    (told,) = (write.note for write in made.writes if isinstance(write, Emit))
    assert told.message == "Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"
    assert (told.reason, made.retry) == ("FailedCreate", "pvc data-db-0 is being deleted")


def test_a_claim_that_is_lost_while_the_pod_waits_is_made_again():
    owner = stateful_set(1, volumeClaimTemplates=CLAIMS)
    assert names(Create, plan(owner, [pod(owner, 0, revision(owner), "pending")])) == ["data-db-0"]
    assert names(Create, plan(owner, [pod(owner, 0, revision(owner), "running")])) == []


states = st.sampled_from([None, "ready", "running", "pending", "failed", "leaving"])


def after(owner: Obj, pods: list[Obj], made: Plan, past: Obj) -> tuple[Obj, list[Obj]]:
    """The world once the plan is carried out and what left is gone; nobody runs the new pods yet."""
    gone = {meta.uid(write.obj) for write in made.writes if isinstance(write, Delete)}
    left = [each for each in pods if meta.uid(each) not in gone]
    for write in made.writes:
        if isinstance(write, Create):
            number = identity.ordinal(owner, write.obj)
            assert number is not None
            left.append(pod(owner, number, past, "pending"))
        if isinstance(write, Update) and write.subresource:
            owner = {**owner, "status": write.obj["status"]}
    return owner, left


@given(st.integers(0, 4), st.lists(states, max_size=6), st.sampled_from(["OrderedReady", "Parallel"]))
def test_it_comes_to_rest_with_the_right_numbers(replicas: int, listed: list[str | None], policy: str):
    """In order: never a pod while one below it is not available, one write of a pod at a time. At rest: nothing to do."""
    owner = stateful_set(replicas, podManagementPolicy=policy)
    past = revision(owner)
    # Upstream, too, gives up nothing for ever where two of those that should go have failed.
    listed = [state if at < replicas or state != "failed" else "ready" for at, state in enumerate(listed)]
    pods = [pod(owner, at, past, state) for at, state in enumerate(listed) if state]
    for _ in range(40):
        made = plan(owner, pods)
        touched = [*names(Create, made), *names(Delete, made)]
        if policy == "OrderedReady":
            assert len(touched) <= 1
        for write in made.writes:
            if isinstance(write, Create) and policy == "OrderedReady":
                number = identity.ordinal(owner, write.obj) or 0
                below = {identity.ordinal(owner, each): each for each in pods}
                assert all(below[at]["status"]["conditions"] for at in range(number))
        owner, pods = after(owner, pods, made, past)
        assert len({meta.name(each) for each in pods}) == len(pods)
        if not touched:
            # The kubelet's turn.
            well = [each for each in pods if not meta.is_deleting(each)]
            settled = [
                pod(owner, identity.ordinal(owner, each) or 0, past) if each["status"]["phase"] != "Failed" else each
                for each in well
            ]
            if settled == pods:
                break
            pods = settled
    assert sorted(meta.name(each) for each in pods) == [f"db-{number}" for number in range(replicas)]
    assert plan(owner, pods).writes == ()
