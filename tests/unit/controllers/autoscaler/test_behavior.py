"""How fast, how far, and what lately was asked for. v1.36.4 pkg/controller/podautoscaler/horizontal_test.go
(TestConvertDesiredReplicasWithRules, TestScalingWithRules, TestNormalizeDesiredReplicas)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.controllers.autoscaler.behavior import Bounds, Entry, Past, with_rules, without_rules

NOW = 10_000.0
WINDOW = 300.0


def rules(*policies, choice="Max", window=0):
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies]
    return {"policies": listed, "selectPolicy": choice, "stabilizationWindowSeconds": window}


ANY = rules(("Percent", 10_000, 15))


def entries(*pairs):
    return tuple(Entry(NOW - ago, count) for ago, count in pairs)


@pytest.mark.parametrize(
    ("current", "wish", "least", "most", "replicas", "reason"),
    [
        (4, 7, 1, 10, 7, "DesiredWithinRange"),
        (4, 7, 8, 10, 8, "TooFewReplicas"),
        (1, 0, 1, 10, 1, "TooFewReplicas"),
        (4, 12, 1, 10, 8, "ScaleUpLimit"),
        (1, 9, 1, 10, 4, "ScaleUpLimit"),
        (9, 12, 1, 10, 10, "TooManyReplicas"),
    ],
)
def test_without_rules_it_doubles_at_most(current, wish, least, most, replicas, reason):
    allowed = without_rules(wish, Bounds(current, least, most), Past(), WINDOW, NOW)
    assert (allowed.replicas, allowed.limit[0]) == (replicas, reason)
    assert allowed.limited == (replicas != wish)


def test_without_rules_a_recent_higher_wish_counts():
    past = Past(entries((301, 9), (299, 7), (15, 4)))
    allowed = without_rules(3, Bounds(7, 1, 10), past, WINDOW, NOW)
    assert (allowed.replicas, allowed.able[0]) == (7, "ScaleDownStabilized")
    later = without_rules(3, Bounds(7, 1, 10), past, 100.0, NOW)
    assert (later.replicas, later.able[0]) == (4, "ScaleDownStabilized")
    assert without_rules(3, Bounds(7, 1, 10), Past(), WINDOW, NOW).able[0] == "ReadyForNewScale"


@pytest.mark.parametrize(
    ("up", "past", "current", "wish", "replicas"),
    [
        (rules(("Pods", 4, 60)), Past(), 10, 40, 14),
        (rules(("Percent", 50, 60)), Past(), 10, 40, 15),
        (rules(("Percent", 10, 60)), Past(), 1, 40, 2),
        (rules(("Pods", 4, 60), ("Percent", 100, 60)), Past(), 10, 40, 20),
        (rules(("Pods", 4, 60), ("Percent", 100, 60), choice="Min"), Past(), 10, 40, 14),
        (rules(("Pods", 4, 60), choice="Disabled"), Past(), 10, 40, 10),
        (rules(("Pods", 4, 60)), Past(added=entries((59, 3))), 10, 40, 11),
        (rules(("Pods", 4, 60)), Past(added=entries((61, 3))), 10, 40, 14),
        (rules(("Pods", 4, 60)), Past(added=entries((30, 9))), 10, 40, 10),
        (rules(("Pods", 4, 60)), Past(removed=entries((30, 3))), 10, 40, 17),
    ],
)
def test_growing_by_rules(up, past, current, wish, replicas):
    behavior = {"scaleUp": up, "scaleDown": ANY}
    allowed = with_rules(wish, Bounds(current, 1, 1000), behavior, past, WINDOW, NOW)
    assert (allowed.replicas, allowed.limit[0]) == (replicas, "ScaleUpLimit")


@pytest.mark.parametrize(
    ("down", "past", "current", "wish", "replicas"),
    [
        (rules(("Pods", 4, 60)), Past(), 40, 10, 36),
        (rules(("Percent", 50, 60)), Past(), 41, 10, 20),
        (rules(("Pods", 4, 60), ("Percent", 50, 60)), Past(), 40, 10, 20),
        (rules(("Pods", 4, 60), ("Percent", 50, 60), choice="Min"), Past(), 40, 10, 36),
        (rules(("Pods", 4, 60), choice="Disabled"), Past(), 40, 10, 40),
        (rules(("Pods", 4, 60)), Past(removed=entries((59, 3))), 40, 10, 39),
        (rules(("Pods", 4, 60)), Past(removed=entries((59, 9))), 40, 10, 40),
        (rules(("Pods", 4, 60)), Past(added=entries((59, 2))), 40, 10, 34),
    ],
)
def test_shrinking_by_rules(down, past, current, wish, replicas):
    behavior = {"scaleUp": ANY, "scaleDown": down}
    allowed = with_rules(wish, Bounds(current, 1, 1000), behavior, past, WINDOW, NOW)
    assert (allowed.replicas, allowed.limit[0]) == (replicas, "ScaleDownLimit")


def test_windows_of_both_directions():
    behavior = {"scaleUp": rules(("Pods", 100, 15), window=100), "scaleDown": rules(("Pods", 100, 15), window=200)}
    past = Past(entries((150, 30), (50, 12)))
    up = with_rules(20, Bounds(10, 1, 100), behavior, past, WINDOW, NOW)
    assert (up.replicas, up.able[0]) == (12, "ScaleUpStabilized")
    down = with_rules(5, Bounds(25, 1, 100), behavior, past, WINDOW, NOW)
    assert (down.replicas, down.able[0]) == (25, "ScaleDownStabilized")
    del behavior["scaleDown"]["stabilizationWindowSeconds"]
    assert with_rules(5, Bounds(25, 1, 100), behavior, past, 100.0, NOW).replicas == 12


def test_bounds_of_rules():
    behavior = {"scaleUp": ANY, "scaleDown": ANY}
    assert with_rules(99, Bounds(5, 1, 8), behavior, Past(), WINDOW, NOW).limit[0] == "TooManyReplicas"
    assert with_rules(1, Bounds(5, 3, 8), behavior, Past(), WINDOW, NOW).limit[0] == "TooFewReplicas"


policies = st.tuples(st.sampled_from(["Pods", "Percent"]), st.integers(1, 200), st.integers(1, 300))
directions = st.builds(
    lambda listed, choice, window: rules(*listed, choice=choice, window=window),
    st.lists(policies, min_size=1, max_size=3),
    st.sampled_from(["Max", "Min", "Disabled"]),
    st.integers(0, 600),
)
pasts = st.lists(st.tuples(st.floats(0, 700), st.integers(0, 50)), max_size=5).map(lambda found: entries(*found))


@given(st.integers(0, 100), st.integers(1, 100), directions, directions, pasts, pasts, pasts)
def test_never_out_of_bounds_and_never_against_the_wish(wish, current, up, down, wishes, added, removed):
    bounds = Bounds(current, 1, 100)
    past = Past(wishes, added, removed)
    allowed = with_rules(wish, bounds, {"scaleUp": up, "scaleDown": down}, past, WINDOW, NOW)
    assert min(wish, 1) <= allowed.replicas <= 100
    if up["selectPolicy"] == "Disabled":
        assert allowed.replicas <= current
    if down["selectPolicy"] == "Disabled":
        assert allowed.replicas >= current
    if allowed.replicas > current:
        assert wish > current or any(each.count > current for each in wishes)
    assert allowed.past.wishes[-1] == Entry(NOW, wish)


def test_the_past_is_forgotten_in_time():
    past = Past(entries((4000, 3), (100, 5)), entries((4000, 1)), entries((10, 1)))
    assert [each.count for each in past.wished(7, NOW, WINDOW).wishes] == [5, 7]
    assert [each.count for each in past.wished(7, NOW, 5000.0).wishes] == [3, 5, 7]
    assert [each.count for each in past.scaled(3, 5, NOW).added] == [2]
    assert [each.count for each in past.scaled(5, 1, NOW).removed] == [1, 4]
    assert past.begun(9, NOW) is past
    assert Past().begun(9, NOW).wishes == (Entry(NOW, 9),)
