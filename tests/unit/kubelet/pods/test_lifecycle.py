"""A pod's life on a node: the table, and what must never happen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.kubelet.pods.lifecycle import (
    TRANSITIONS,
    CleanedUp,
    ContainersGone,
    Deleted,
    Instruction,
    Phase,
    PodState,
    ReachedEnd,
    Removed,
    effective_grace,
    step,
)

ORDER = [Phase.SYNC, Phase.TERMINATING, Phase.TERMINATED, Phase.ENDED, Phase.GONE]


def run(*events, now=100.0):
    state, told = PodState(), []
    for event in events:
        state, instructions = step(state, event, now)
        told += instructions
    return state, told


def test_a_deleted_pod_is_killed_cleaned_up_confirmed_and_forgotten():
    # v1.36.4 pkg/kubelet/pod_workers.go: SyncPod, SyncTerminatingPod, SyncTerminatedPod
    state, told = run(Deleted(30), ContainersGone(), CleanedUp(), Removed(0))
    assert state.phase is Phase.GONE
    assert told == [Instruction.KILL, Instruction.CLEAN_UP, Instruction.CONFIRM, Instruction.FORGET]


def test_a_pod_that_ended_by_itself_stays_until_somebody_deletes_it():
    state, told = run(ReachedEnd(30), ContainersGone(), CleanedUp())
    assert state.phase is Phase.ENDED
    assert Instruction.CONFIRM not in told
    assert step(state, Deleted(0), 200.0)[1] == (Instruction.CONFIRM,)


def test_a_pod_removed_by_force_needs_no_confirmation():
    state, told = run(Removed(0), ContainersGone(), CleanedUp())
    assert state.phase is Phase.GONE
    assert told == [Instruction.KILL, Instruction.CLEAN_UP, Instruction.FORGET]


@pytest.mark.parametrize(("grace", "kills"), [(5.0, [Instruction.KILL]), (30.0, []), (60.0, [])])
def test_only_less_grace_changes_a_termination(grace, kills):
    # v1.36.4 pkg/kubelet/pod_workers.go, calculateEffectiveGracePeriod: the period can only be shortened
    state, _ = run(Deleted(30))
    after, told = step(state, Deleted(grace), 100.0)
    assert list(told) == kills
    assert after.deadline == 100.0 + min(grace, 30.0)


EVENTS = st.one_of(
    st.builds(Deleted, st.floats(0, 100)),
    st.builds(Removed, st.floats(0, 100)),
    st.builds(ReachedEnd, st.floats(0, 100)),
    st.just(ContainersGone()),
    st.just(CleanedUp()),
)


@given(st.lists(st.tuples(EVENTS, st.floats(0, 10)), max_size=30))
def test_no_way_back_and_no_longer_deadline(events):
    state, now = PodState(), 0.0
    for event, passed in events:
        now += passed
        after, _ = step(state, event, now)
        assert ORDER.index(after.phase) >= ORDER.index(state.phase)
        assert after.deadline <= state.deadline
        state = after


@given(st.lists(st.tuples(EVENTS, st.floats(0, 10)), max_size=30))
def test_a_deletion_is_never_confirmed_while_something_runs(events):
    state, gone = PodState(), False
    for event, _ in events:
        terminating = state.phase is Phase.TERMINATING
        state, told = step(state, event, 0.0)
        gone = gone or (terminating and isinstance(event, ContainersGone))
        assert gone or Instruction.CONFIRM not in told


def test_every_phase_is_in_the_table():
    assert set(TRANSITIONS) == set(Phase)


@pytest.mark.parametrize(
    ("deletion", "spec", "expected"), [(None, 30, 30), (5, 30, 5), (0, 30, 30), (0, 0, 1), (None, 0, 1), (1, 1000, 1)]
)
def test_grace(deletion, spec, expected):
    # v1.36.4 pkg/kubelet/pod_workers.go, calculateEffectiveGracePeriod
    pod = {"metadata": {"deletionGracePeriodSeconds": deletion}, "spec": {"terminationGracePeriodSeconds": spec}}
    assert effective_grace(pod) == expected


def test_what_is_ending_anyway_ends_sooner_with_its_machine():
    state, told = run(Deleted(30), ReachedEnd(5))
    assert (state.deadline, told) == (105.0, [Instruction.KILL, Instruction.KILL])
    assert run(Deleted(5), ReachedEnd(30))[0].deadline == 105.0
