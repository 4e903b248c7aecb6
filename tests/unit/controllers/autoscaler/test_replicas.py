"""How many copies a figure asks for. v1.36.4 pkg/controller/podautoscaler/replica_calculator_test.go."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.controllers.autoscaler import replicas
from tiphys.controllers.autoscaler.replicas import Proposal, Sample, Target, Tolerance, Unknowable
from tiphys.controllers.autoscaler.settings import AutoscalerSettings
from tiphys.machinery import times

NOW = 1_700_000_000.0
LONG_AGO = times.rfc3339(NOW - 3600)
TOLERANCE = Tolerance(0.1, 0.1)


def pod(number, phase="Running", ready=True, cpu="1", started=LONG_AGO, changed=LONG_AGO, deleting=False, **spec):
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": changed}
    metadata = {"name": f"p{number}", "namespace": "default", "uid": str(number)}
    if deleting:
        metadata["deletionTimestamp"] = times.rfc3339(NOW)
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}} if cpu else {}}]
    status = {"phase": phase, "startTime": started, "conditions": [condition]}
    return {"metadata": metadata, "spec": {"containers": containers, **spec}, "status": status}


def target(pods, wanted=None, present=None, tolerance=TOLERANCE):
    count = len(pods) if wanted is None else wanted
    return Target(count, count if present is None else present, pods, tolerance, AutoscalerSettings(), NOW)


def samples(*values, at=NOW):
    return {f"p{number}": Sample(value, at, 60.0) for number, value in enumerate(values) if value is not None}


def utilization(of, found, percent, cpu=True):
    return replicas.by_utilization(of, found, replicas.requests_of(of.pods, "cpu", ""), percent, cpu)


@pytest.mark.parametrize(
    ("levels", "percent", "proposal"),
    [
        ((300, 500, 700), 30, Proposal(5, 500, 50)),
        ((300, 500, 700), 50, Proposal(3, 500, 50)),
        ((100, 300, 500, 250, 250), 50, Proposal(3, 280, 28)),
        ((1010, 1030, 1020), 100, Proposal(3, 1020, 102)),
        ((0, 0, 0), 50, Proposal(0, 0, 0)),
    ],
)
def test_shares_of_requests(levels, percent, proposal):
    of = target([pod(number) for number in range(len(levels))])
    assert utilization(of, samples(*levels), percent) == proposal


def test_who_has_just_started_counts_as_idle_where_more_are_asked_for():
    pods = [pod(0, ready=False, started=times.rfc3339(NOW)), pod(1), pod(2)]
    assert utilization(target(pods), samples(1000, 500, 700), 30).replicas == 4
    every_fresh = [pod(number, started=times.rfc3339(NOW), changed=times.rfc3339(NOW)) for number in range(2)]
    with pytest.raises(Unknowable, match="pods might be unready"):
        utilization(target(every_fresh), samples(1, 2), 30)


def test_a_sample_counts_once_it_covers_the_time_since_the_pod_became_ready():
    fresh = pod(0, started=times.rfc3339(NOW - 100), changed=times.rfc3339(NOW - 61))
    assert utilization(target([fresh]), samples(900), 30).replicas == 3
    newer = pod(0, started=times.rfc3339(NOW - 100), changed=times.rfc3339(NOW - 59))
    with pytest.raises(Unknowable):
        utilization(target([newer]), samples(900), 30)


def test_missing_figures_weigh_against_the_change():
    pods = [pod(number) for number in range(3)]
    assert utilization(target(pods), samples(1000, 900, None), 50).replicas == 4, "idle when there is too much to do"
    assert utilization(target(pods), samples(100, 100, None), 50).replicas == 3, "busy when there is too little"
    assert utilization(target(pods), samples(600, 600, None), 50).replicas == 3, "what would turn the answer changes nothing"


def test_pods_that_go_or_failed_or_wait_are_not_counted():
    pods = [pod(0), pod(1, deleting=True), pod(2, phase="Failed"), pod(3, phase="Pending")]
    assert utilization(target(pods, wanted=1), samples(200, 5000, 5000, 5000), 50) == Proposal(1, 200, 20)


@pytest.mark.parametrize(
    ("up", "down", "level", "count"),
    [(0.0, 0.1, 510, 4), (0.1, 0.1, 510, 3), (0.1, 0.0, 490, 3), (0.1, 0.5, 300, 3), (0.1, 0.3, 300, 2)],
)
def test_near_enough_changes_nothing(up, down, level, count):
    of = target([pod(number) for number in range(3)], tolerance=Tolerance(down, up))
    assert utilization(of, samples(level, level, level), 50).replicas == count


@pytest.mark.parametrize(
    ("pods", "container", "message"),
    [
        ([pod(0, cpu="")], "", "missing request for cpu in container c of Pod p0"),
        ([pod(0)], "other", "container other not found in Pod p0"),
        ([pod(0, cpu="", resources={"requests": {"memory": "1Gi"}})], "", "missing pod-level request for cpu in Pod p0"),
    ],
)
def test_requests_that_are_missing(pods, container, message):
    with pytest.raises(Unknowable, match=message):
        replicas.requests_of(pods, "cpu", container)


def test_requests_of_pods_count_sidecars_and_come_before_those_of_containers():
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}
    once = {"name": "i", "resources": {"requests": {"cpu": "7"}}}
    assert replicas.requests_of([pod(0, initContainers=[sidecar, once])], "cpu", "") == {"p0": 1500}
    of_pod = pod(0, initContainers=[sidecar], resources={"requests": {"cpu": "3"}})
    assert replicas.requests_of([of_pod], "cpu", "") == {"p0": 3000}
    assert replicas.requests_of([of_pod], "cpu", "s") == {"p0": 500}


def test_averages():
    of = target([pod(number) for number in range(3)])
    assert replicas.by_average(of, samples(20_000, 10_000, 30_000), 15_000, cpu=False) == Proposal(4, 20_000)
    assert replicas.by_average(of, samples(12_000, 12_000, None), 20_000, cpu=False) == Proposal(3, 12_000)
    with pytest.raises(Unknowable, match="no pods returned by selector"):
        replicas.by_average(target([]), samples(1), 1, cpu=False)


def test_one_figure_for_all():
    ready = [pod(number) for number in range(3)]
    assert replicas.by_value(target(ready), 20_000, 15_000) == Proposal(4, 20_000)
    assert replicas.by_value(target([*ready[:2], pod(2, ready=False)], wanted=3), 20_000, 15_000).replicas == 3
    assert replicas.by_value(target(ready), 15_500, 15_000).replicas == 3
    assert replicas.by_value(target([], wanted=0), 20_000, 15_000).replicas == 2
    assert replicas.by_value(target(ready), 2**62, 1).replicas == replicas.MOST


def test_one_figure_shared_by_all():
    of = target([pod(number) for number in range(5)])
    assert replicas.by_value_each(of, 8600, 2150) == Proposal(4, 1720)
    assert replicas.by_value_each(of, 2150 * 5 + 100, 2150).replicas == 5
    assert replicas.by_value_each(target([], wanted=1, present=0), 10, 3).replicas == ceil(10 / 3)


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(["fine", "missing", "pending"])), min_size=1, max_size=8),
    st.integers(1, 200),
)
def test_what_is_unknown_never_turns_the_answer_round(found, percent):
    pods = [pod(number, phase="Pending" if how == "pending" else "Running") for number, (_, how) in enumerate(found)]
    known = samples(*(value if how == "fine" else None for value, how in found))
    if not known:
        return
    proposal = utilization(target(pods), known, percent)
    assert proposal.utilization is not None
    if proposal.utilization > percent:
        assert proposal.replicas >= len(known)
    if proposal.utilization < percent:
        assert proposal.replicas <= len(pods)
