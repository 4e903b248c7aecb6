"""When the node is short of something (v1.36.4 pkg/kubelet/eviction/helpers_test.go, eviction_manager_test.go)."""

from hypothesis import given
from hypothesis import strategies as some

from tiphys.kubelet.eviction.signals import Observation, State, Threshold, step, thresholds

GI = 1 << 30
HARD = Threshold("memory.available", "1Gi")
SOFT = Threshold("memory.available", "2Gi", hard=False, grace=60.0)
DISK = Threshold("nodefs.available", "10%")


def look(state, available, now, *, of=(HARD,), transition=0.0, signal="memory.available", capacity=10 * GI):
    return step(state, of, {signal: Observation(available, capacity)}, transition, now)


def test_a_hard_threshold_acts_at_once():
    assert look(State(), GI, 0.0)[1].starved == ()
    found = look(State(), GI - 1, 0.0)[1]
    assert found.starved == (HARD,)
    assert found.pressures == ("MemoryPressure",)


def test_a_soft_one_waits_for_its_grace_and_begins_anew():
    state, found = look(State(), GI, 0.0, of=(SOFT,))
    assert (found.starved, found.pressures) == ((), ("MemoryPressure",))
    state, found = look(state, GI, 59.0, of=(SOFT,))
    assert found.starved == ()
    assert look(state, GI, 60.0, of=(SOFT,))[1].starved == (SOFT,)
    state, _ = look(state, 3 * GI, 60.0, of=(SOFT,))
    assert look(state, GI, 61.0, of=(SOFT,))[1].starved == ()


def test_a_condition_is_told_for_a_while_after_it_has_gone():
    state, _ = look(State(), 0, 0.0, transition=300.0)
    state, found = look(state, 5 * GI, 299.0, transition=300.0)
    assert (found.pressures, found.starved) == (("MemoryPressure",), ())
    assert look(state, 5 * GI, 300.0, transition=300.0)[1].pressures == ()


def test_once_met_more_has_to_be_won_back():
    wide = Threshold("memory.available", "1Gi", reclaim="1Gi")
    assert look(State(), GI + 1, 0.0, of=(wide,))[1].starved == ()
    state, _ = look(State(), GI - 1, 0.0, of=(wide,))
    state, found = look(state, GI + 1, 1.0, of=(wide,))
    assert found.starved == (wide,)
    assert look(state, 2 * GI, 2.0, of=(wide,))[1].starved == ()


def test_parts_of_the_whole():
    found = look(State(), 9, 0.0, of=(DISK,), signal="nodefs.available", capacity=100)[1]
    assert (found.pressures, found.starved) == (("DiskPressure",), (DISK,))


def test_memory_goes_before_everything_else():
    seen = {"nodefs.available": Observation(0, 10), "memory.available": Observation(0, 10)}
    assert step(State(), (DISK, HARD), seen, 0.0, 0.0)[1].starved == (HARD, DISK)


def test_from_a_configuration():
    # https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-thresholds
    settings = {
        "evictionHard": {"memory.available": "1Gi", "nodefs.available": "0%"},
        "evictionSoft": {"memory.available": "2Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m"},
        "evictionMinimumReclaim": {"memory.available": "5Mi"},
    }
    assert thresholds(settings) == (
        Threshold("memory.available", "1Gi", reclaim="5Mi"),
        Threshold("memory.available", "2Gi", hard=False, grace=60.0, reclaim="5Mi"),
    )


@given(some.lists(some.integers(0, 20), max_size=20))
def test_nothing_is_starved_while_there_is_enough(levels):
    state = State()
    for now, level in enumerate(levels):
        state, found = look(state, level * GI // 5, float(now), of=(HARD, SOFT))
        assert not found.starved or level * GI // 5 < 2 * GI
        assert bool(found.pressures) == (level * GI // 5 < 2 * GI)
