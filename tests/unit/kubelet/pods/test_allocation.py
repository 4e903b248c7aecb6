"""What pods have been given, and resizes that wait (v1.36.4 pkg/kubelet/allocation/allocation_manager.go)."""

from hypothesis import given as sometimes
from hypothesis import strategies as some

from tiphys.api.core.pods import facts
from tiphys.kubelet.pods.admission import Place
from tiphys.kubelet.pods.allocation import Allocations, with_resources

NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "10"}}}


def pod(uid, cpu, priority=0):
    resources = {"requests": {"cpu": f"{cpu}m"}}
    return {
        "metadata": {"name": uid, "namespace": "d", "uid": uid},
        "spec": {"nodeName": "n", "priority": priority, "containers": [{"name": "c", "resources": resources}]},
    }


def allocations(woken=None):
    return Allocations(lambda: Place(NODE), (woken if woken is not None else []).append)


def cpu(held, uid):
    return held.given(uid)["c"]["requests"]["cpu"]


def test_a_resize_is_given_where_there_is_room():
    held = allocations()
    assert held.admit(pod("a", 1000), None) is None
    assert held.wish(pod("a", 4000), 0.0)
    assert cpu(held, "a") == "4000m"
    assert held.pending("a") is None


def test_it_waits_until_another_pod_goes():
    woken = []
    held = allocations(woken)
    held.admit(pod("a", 1000), None)
    held.admit(pod("b", 3000), None)
    assert not held.wish(pod("a", 2000), 0.0)
    assert cpu(held, "a") == "1000m"
    pending = held.pending("a")
    assert pending.reason == "Deferred"
    assert pending.message == "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"
    held.release("b", 1.0)
    assert cpu(held, "a") == "2000m"
    assert woken == ["a"]


def test_of_those_that_wait_the_more_important_comes_first():
    held = allocations()
    for each in (pod("a", 1000), pod("b", 1000, priority=5), pod("c", 2000)):
        held.admit(each, None)
    held.wish(pod("a", 3000), 0.0)
    held.wish(pod("b", 3000, priority=5), 1.0)
    held.release("c", 2.0)
    assert (cpu(held, "a"), cpu(held, "b")) == ("1000m", "3000m")


def test_a_wish_taken_back_waits_no_more():
    held = allocations()
    held.admit(pod("a", 1000), None)
    held.wish(pod("a", 9000), 0.0)
    assert held.pending("a") is not None
    assert not held.wish(pod("a", 1000), 1.0)
    assert held.pending("a") is None


def test_what_it_had_before_a_restart_it_has_again():
    held = allocations()
    held.admit(pod("b", 4000), None)
    assert held.admit(pod("a", 2000), {"c": {"requests": {"cpu": "1000m"}}}) is None
    assert cpu(held, "a") == "1000m"


def test_a_pod_with_what_it_asks_for_is_the_very_same():
    made = pod("a", 1000)
    assert with_resources(made, {"c": {"requests": {"cpu": "1000m"}}}) is made


@sometimes(
    some.lists(some.tuples(some.sampled_from("abc"), some.sampled_from(["admit", "wish", "release"]), some.integers(0, 5000)))
)
def test_never_is_more_given_than_there_is(steps):
    held = allocations()
    for now, (uid, what, amount) in enumerate(steps):
        if what == "admit" and held.given(uid) is None:
            held.admit(pod(uid, amount), None)
        elif what == "wish":
            held.wish(pod(uid, amount), float(now))
        else:
            held.release(uid, float(now))
        assert sum(facts.requests(each)["cpu"].milli() for each in held.pods()) <= 4000
