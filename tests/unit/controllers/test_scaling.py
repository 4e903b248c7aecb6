"""The arithmetic of rollouts. v1.36.4 pkg/controller/deployment: rolling.go, sync.go, util/deployment_util.go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.controllers.deployment import scaling
from tiphys.controllers.numbers import rounded, scaled

amounts = st.integers(0, 5) | st.integers(0, 100).map(lambda share: f"{share}%")


def deployment(replicas, surge="25%", unavailable="25%"):
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def rs(name, replicas, available=None, **annotations):
    return {
        "metadata": {"name": name, "annotations": annotations, "creationTimestamp": name},
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas, "availableReplicas": replicas if available is None else available},
    }


@pytest.mark.parametrize(
    ("value", "total", "up", "number"),
    [("25%", 10, True, 3), ("25%", 10, False, 2), (4, 10, True, 4), ("0%", 10, True, 0), (None, 10, True, 0)],
)
def test_shares(value, total, up, number):
    assert scaled(value, total, up=up) == number


@pytest.mark.parametrize(("top", "bottom", "number"), [(5, 2, 3), (-5, 2, -3), (4, 3, 1), (0, 3, 0)])
def test_halves_go_away_from_zero(top, bottom, number):
    assert rounded(top, bottom) == number


# deployment_util_test.go, TestResolveFenceposts: where both are nothing, one pod may be away.
@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "fences"),
    [("0%", "0%", 10, (0, 1)), ("39%", "39%", 10, (4, 3)), (0, 0, 10, (0, 1)), (0, 1, 10, (0, 1))],
)
def test_fences(surge, unavailable, replicas, fences):
    found = deployment(replicas, surge, unavailable)
    assert (scaling.max_surge(found), scaling.max_unavailable(found)) == fences


@given(st.integers(0, 20), amounts, amounts, st.lists(st.integers(0, 20), max_size=3), st.integers(0, 20))
def test_growth_never_passes_replicas_and_surge(replicas, surge, unavailable, old, new):
    asked = deployment(replicas, surge, unavailable)
    sets = [*(rs(str(n), size) for n, size in enumerate(old)), rs("new", new)]
    size = scaling.new_size(asked, sets, sets[-1])
    limit = replicas + scaling.max_surge(asked)
    assert size <= max(new, replicas)
    assert sum(old) + size <= max(limit, sum(old) + new)


@given(st.integers(1, 20), amounts, amounts, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3))
def test_shrinking_never_takes_what_was_promised(replicas, surge, unavailable, old):
    asked = deployment(replicas, surge, unavailable)
    sets = [rs(str(n), size, min(size, available)) for n, (size, available) in enumerate(old)]
    sizes = scaling.shrink_old(asked, sets, sets)
    promised = replicas - scaling.max_unavailable(asked)
    before = sum(each["status"]["availableReplicas"] for each in sets)
    # At worst, every pod that goes was available.
    cut = sum(each["spec"]["replicas"] - sizes.get(each["metadata"]["name"], each["spec"]["replicas"]) for each in sets)
    assert cut == 0 or before - cut >= promised


# sync_test.go, TestScale: "when scaling up ... proportionally", the largest set takes what rounding leaves.
@pytest.mark.parametrize(
    ("replicas", "before", "sizes", "after"),
    [(20, 10, [10, 0], [20, 0]), (12, 10, [5, 5], [6, 6]), (5, 10, [5, 5], [2, 3]), (10, 5, [2, 2, 1], [4, 4, 2])],
)
def test_sizes_amid_a_rollout_keep_their_proportions(replicas, before, sizes, after):
    annotations = {scaling.MAX: str(before)}
    sets = [rs(str(n), size, **annotations) for n, size in enumerate(sizes)]
    found = scaling.proportional(deployment(replicas, 0, 1), scaling.active(sets))
    assert [found.get(str(n), 0) for n in range(len(sizes))] == after


@given(st.integers(0, 30), st.integers(0, 9), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_proportions_add_up(replicas, surge, sizes):
    """Where the annotations tell the truth: sets were never allowed less than they have."""
    sets = [rs(str(n), size, **{scaling.MAX: str(sum(sizes) + surge)}) for n, size in enumerate(sizes)]
    found = scaling.proportional(deployment(replicas, 1, 0), sets)
    allowed = replicas + 1 if replicas else 0
    assert all(size >= 0 for size in found.values())
    assert sum(found.values()) >= min(allowed, sum(sizes)) or replicas == 0
    assert sum(found.values()) <= max(allowed, sum(sizes))


def test_what_was_told_before_a_set_shrank_does_not_count_in_full():
    """Old sets of a Deployment that was scaled amid a rollout keep what must stay available."""
    web = deployment(5, surge=3, unavailable=2)
    old = rs("old", 5, available=11)
    assert scaling.shrink_old(web, [old, rs("new", 3, available=0)], [old]) == {"old": 3}
