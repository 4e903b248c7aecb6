"""What budgets allow. v1.36.4 pkg/controller/disruption/disruption.go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.client.cache import Cache
from tiphys.controllers.controller import Caches, named
from tiphys.controllers.disruption import DisruptionController, World
from tiphys.controllers.disruption.expected import KNOWN, Scale, Scaled, Unwatched, scale_of
from tiphys.controllers.disruption.stale import Marked
from tiphys.controllers.plan import Emit, Inquire, Patch, Plan, Update
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

NOW = 1_800_000_000.0


def budget(status: Obj | None = None, **spec: Any) -> Obj:
    metadata = {"name": "b", "namespace": "default", "uid": "b", "generation": 3}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}, "status": status or {}}


def pod(name: str, owner: str | None = "rs", *, ready: bool = True, leaving: bool = False) -> Obj:
    metadata: Obj = {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True, "kind": "ReplicaSet", "name": owner}]
    if leaving:
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    status = "True" if ready else "False"
    return {
        "metadata": metadata,
        "spec": {},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]},
    }


def plan(of: Obj, *pods: Obj, scales: dict[str, Scale] | None = None) -> Plan:
    return DisruptionController.reconcile(World(of, pods, scales or {}, NOW))


def status(made: Plan) -> Obj:
    (found,) = (write.obj["status"] for write in made.writes if isinstance(write, Update))
    return found


def told(made: Plan) -> dict[str, str]:
    return {write.note.reason: write.note.message for write in made.writes if isinstance(write, Emit)}


THREE: dict[str, Scale] = {"rs": Scaled("deployment", 3)}


@pytest.mark.parametrize(
    ("spec", "ready", "scales", "expected", "desired", "allowed"),
    [
        ({"minAvailable": 2}, 3, {}, 3, 2, 1),
        ({"minAvailable": 2}, 2, {}, 3, 2, 0),
        ({"minAvailable": 2}, 1, {}, 3, 2, 0),
        ({"minAvailable": 0}, 3, {}, 3, 0, 3),
        ({"minAvailable": "50%"}, 3, THREE, 3, 2, 1),
        ({"minAvailable": "100%"}, 3, THREE, 3, 3, 0),
        ({"maxUnavailable": 1}, 3, THREE, 3, 2, 1),
        ({"maxUnavailable": 0}, 3, THREE, 3, 3, 0),
        ({"maxUnavailable": "34%"}, 3, THREE, 3, 1, 2),
        ({"maxUnavailable": 5}, 3, THREE, 3, 0, 3),
        # Its owner wants more than there are.
        ({"maxUnavailable": 1}, 3, {"rs": Scaled("deployment", 10)}, 10, 9, 0),
        ({}, 3, {}, 0, 0, 0),
    ],
)
def test_how_many_may_go(spec: Obj, ready: int, scales: dict[str, Scale], expected: int, desired: int, allowed: int):
    found = status(plan(budget(**spec), *(pod(str(at), ready=at < ready) for at in range(3)), scales=scales))
    assert (found["expectedPods"], found["desiredHealthy"], found["disruptionsAllowed"]) == (expected, desired, allowed)
    (condition,) = found["conditions"]
    reason = "SufficientPods" if allowed else "InsufficientPods"
    assert (condition["reason"], condition["status"], condition["message"]) == (reason, str(allowed > 0), "")
    assert (condition["observedGeneration"], found["observedGeneration"], found["currentHealthy"]) == (3, 3, ready)


def test_a_budget_without_pods_allows_nothing():
    made = plan(budget(minAvailable=0))
    assert (status(made)["disruptionsAllowed"], told(made)) == (0, {"NoPods": "No matching pods found"})


@pytest.mark.parametrize(
    ("scale", "why"),
    [
        (None, 'found no controllers for pod "0"'),
        ("jobs.batch does not implement the scale subresource", "jobs.batch does not implement the scale subresource"),
    ],
)
def test_where_nobody_knows_nothing_may_go(scale: Scale, why: str):
    old = {"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3, "observedGeneration": 3}
    made = plan(budget(old, maxUnavailable=2), pod("0"), scales={"rs": scale})
    found = status(made)
    (condition,) = found.pop("conditions")
    assert found == {**old, "disruptionsAllowed": 0}
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", why)
    assert told(made) == {"CalculateExpectedPodCountFailed": f"Failed to calculate the number of expected pods: {why}"}


def test_pods_that_nobody_runs_are_told():
    made = plan(budget(maxUnavailable=1), pod("0", None), pod("1"), scales=THREE)
    assert (
        "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]" in told(made)["UnmanagedPods"]
    )
    assert status(made)["expectedPods"] == 3
    assert told(plan(budget(minAvailable=1), pod("0", None))) == {}


def test_whose_scale_counts():
    kinds = (*KNOWN, CUSTOM_RESOURCE_DEFINITIONS)
    caches = Caches({named(kind): Cache(kind) for kind in kinds})

    def reference(kind: str, api_version: str, name: str = "x") -> Obj:
        return {"kind": kind, "apiVersion": api_version, "name": name, "uid": f"{kind}-{name}", "controller": True}

    def known(kind: Any, replicas: int, name: str = "x", **metadata: Any) -> None:
        given = {"name": name, "namespace": "default", "uid": f"{kind.kind}-{name}", **metadata}
        caches[kind].put({"metadata": given, "spec": {"replicas": replicas}})

    known(STATEFULSETS, 4)
    known(REPLICASETS, 2)
    known(REPLICASETS, 3, "of-deployment", ownerReferences=[reference("Deployment", "apps/v1")])
    known(DEPLOYMENTS, 7)
    names = {"kind": "Fleet", "plural": "fleets"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"scale": {}}}
    for group, versions in (("x.io", [version]), ("y.io", [{**version, "subresources": {}}])):
        definition = {"metadata": {"name": group}, "spec": {"group": group, "names": names, "versions": versions}}
        definition["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
        caches[CUSTOM_RESOURCE_DEFINITIONS].put(definition)
    found = {
        (kind, version, name): scale_of(reference(kind, version, name), "default", caches)
        for kind, version, name in (
            ("StatefulSet", "apps/v1", "x"),
            ("StatefulSet", "apps/v1", "gone"),
            ("ReplicaSet", "apps/v1", "x"),
            ("ReplicaSet", "apps/v1", "of-deployment"),
            ("Job", "batch/v1", "x"),
            ("Fleet", "y.io/v1", "x"),
            ("Fleet", "z.io/v1", "x"),
        )
    }
    assert list(found.values()) == [
        Scaled("StatefulSet-x", 4),
        None,
        Scaled("ReplicaSet-x", 2),
        Scaled("Deployment-x", 7),
        "jobs.batch does not implement the scale subresource",
        "fleets.y.io does not implement the scale subresource",
        'no matches for kind "Fleet" in version "z.io/v1"',
    ]
    unwatched = scale_of(reference("Fleet", "x.io/v1"), "default", caches)
    assert isinstance(unwatched, Unwatched)
    assert (unwatched.kind.plural, unwatched.name, unwatched.uid) == ("fleets", "x", "Fleet-x")


def test_the_server_is_asked_for_the_scale_of_what_nobody_watches():
    thing = Unwatched(None, "default", "t", "rs")  # type: ignore[arg-type]
    (inquire,) = plan(budget(maxUnavailable=1), pod("0"), scales={"rs": thing}).writes
    assert isinstance(inquire, Inquire)
    assert inquire.arguments["owners"] == [thing]


def test_an_evicted_pod_does_not_count_until_it_should_have_gone():
    since = {"soon": times.rfc3339(NOW - 100), "never": times.rfc3339(NOW - 121), "going": times.rfc3339(NOW - 1), "gone": "x"}
    made = plan(
        budget({"disruptedPods": since}, minAvailable=1), pod("soon"), pod("never"), pod("going", leaving=True), pod("other")
    )
    found = status(made)
    assert found["disruptedPods"] == {"soon": since["soon"]}
    assert (found["currentHealthy"], found["disruptionsAllowed"], made.again_in) == (2, 1, 21.0)
    assert told(made) == {"NotDeleted": "Pod was expected by PDB default/b to be deleted but it wasn't"}


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6),
    st.one_of(
        st.builds(lambda n: {"minAvailable": n}, st.one_of(st.integers(0, 6), st.sampled_from(["0%", "30%", "100%"]))),
        st.builds(lambda n: {"maxUnavailable": n}, st.one_of(st.integers(0, 6), st.sampled_from(["0%", "30%", "100%"]))),
    ),
)
def test_never_below_what_was_promised(pods: list[tuple[bool, bool]], spec: Obj):
    """And a second look at the result has nothing to do."""
    listed = [pod(str(at), ready=ready, leaving=leaving) for at, (ready, leaving) in enumerate(pods)]
    scales: dict[str, Scale] = {"rs": Scaled("rs", len(pods))}
    made = plan(budget(**spec), *listed, scales=scales)
    found = status(made)
    assert found["disruptionsAllowed"] == 0 or found["currentHealthy"] - found["disruptionsAllowed"] >= found["desiredHealthy"]
    again = plan(budget(found, **spec), *listed, scales=scales)
    assert [write for write in again.writes if not isinstance(write, Emit)] == []


# v1.36.4 disruption.go nonTerminatingPodHasStaleDisruptionCondition
@pytest.mark.parametrize(
    ("since", "changes", "taken_back", "again_in"),
    [
        (NOW - 121, {}, True, None),
        (NOW - 100, {}, False, 20.0),
        (NOW - 121, {"reason": "TerminationByKubelet"}, False, None),
        (NOW - 121, {"status": "False"}, False, None),
    ],
)
def test_a_disruption_that_did_not_come_is_taken_back(since: float, changes: Obj, taken_back: bool, again_in: float | None):
    marked = pod("p")
    condition = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": times.rfc3339(since), **changes}
    marked["status"]["conditions"].append(condition)
    made = DisruptionController.reconcile(Marked(marked, NOW))
    assert ([type(write) for write in made.writes], made.again_in) == ([Patch] if taken_back else [], again_in)
    marked["metadata"]["deletionTimestamp"] = times.rfc3339(NOW)
    assert DisruptionController.reconcile(Marked(marked, NOW)).writes == ()
    assert meta.name(marked) == "p"
