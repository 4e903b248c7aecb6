"""Which pods end when (pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux_test.go, nodeshutdown_manager_test.go)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.kubelet.configuration import checking, with_defaults
from tiphys.kubelet.shutdown.order import Step, grace, groups, requested, steps

CRITICAL = 2_000_000_000


def pod(name, priority=None, own=30):
    spec = {"terminationGracePeriodSeconds": own} | ({} if priority is None else {"priority": priority})
    return {"metadata": {"name": name}, "spec": spec}


def by_priority(*pairs):
    return [{"priority": priority, "shutdownGracePeriodSeconds": seconds} for priority, seconds in pairs]


@pytest.mark.parametrize(
    ("given_settings", "expected"),
    [
        ({}, ()),
        ({"shutdownGracePeriod": "30s"}, (Step(0, 30), Step(CRITICAL, 0))),
        ({"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}, (Step(0, 20), Step(CRITICAL, 10))),
        (
            {"shutdownGracePeriodByPodPriority": by_priority((1000, 20), (0, 60), (100000, 10))},
            (Step(0, 60), Step(1000, 20), Step(100000, 10)),
        ),
    ],
)
def test_steps(given_settings, expected):
    assert steps(with_defaults(given_settings)) == expected


def test_pods_belong_to_the_step_below_them():
    wanted = (Step(0, 60), Step(1000, 20), Step(100000, 10))
    pods = [pod("none"), pod("low", -5), pod("under", 999), pod("at", 1000), pod("above", 1001), pod("high", CRITICAL)]
    found = [(step.priority, [each["metadata"]["name"] for each in members]) for step, members in groups(wanted, pods)]
    assert found == [(0, ["none", "low", "under"]), (1000, ["at", "above"]), (100000, ["high"])]
    assert groups(wanted, [pod("at", 1000)]) == [(wanted[1], [pod("at", 1000)])]
    assert requested(wanted) == 90


def test_a_pod_has_no_more_time_than_it_asks_for():
    assert grace(Step(0, 20), pod("a", own=5)) == 5
    assert grace(Step(0, 20), pod("a", own=60)) == 20


@given(st.lists(st.integers(-10, 10), min_size=1, max_size=4, unique=True), st.lists(st.integers(-15, 15), max_size=8))
def test_every_pod_ends_once_and_none_after_one_of_a_higher_priority(begins, priorities):
    wanted = steps({"shutdownGracePeriodByPodPriority": by_priority(*((each, 1) for each in begins))})
    found = groups(wanted, [pod(str(number), priority) for number, priority in enumerate(priorities)])
    order = [[each["spec"]["priority"] for each in members] for _, members in found]
    assert sorted(itertools.chain(*order)) == sorted(priorities)
    assert all(max(before) < min(after) for before, after in itertools.pairwise(order))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"shutdownGracePeriodCriticalPods": "1m"}, "shutdownGracePeriodCriticalPods 1m must be <= shutdownGracePeriod 0s"),
        ({"shutdownGracePeriod": "10ms"}, "shutdownGracePeriod 10ms must be either zero or otherwise >= 1 sec"),
        (
            {"shutdownGracePeriod": "10s", "shutdownGracePeriodByPodPriority": by_priority((0, 1))},
            "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(asked, words):
    assert checking.problems(with_defaults(asked)) == [f"invalid configuration: {words}"]
