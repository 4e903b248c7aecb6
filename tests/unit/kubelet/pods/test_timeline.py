"""What a kubelet remembers of what it did for a pod, and says of what it is about."""

import pytest

from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.pods.explaining import Standing, explain
from tiphys.kubelet.pods.lifecycle import Phase, PodState
from tiphys.kubelet.pods.restarts import BackOff
from tiphys.kubelet.pods.timeline import Timeline, Timelines
from tiphys.kubelet.probes.verdict import Probed
from tiphys.kubelet.status.containers import Trouble


class Now:
    def __init__(self):
        self.at = 100.0

    def __call__(self):
        return self.at


def test_a_step_has_its_length_and_its_problem():
    now = Now()
    line = Timeline(now)
    with line.step("volumes"):
        now.at += 2
    with pytest.raises(OSError, match="busy"), line.step("start", "c"):
        raise OSError("busy")
    first, second = line.to_tree()
    assert (first["what"], first["seconds"]) == ("volumes", 2.0)
    assert (second["container"], second["problem"]) == ("c", "busy")


def test_what_is_under_way_says_how_long_it_has_been_and_may_be():
    now = Now()
    line = Timeline(now)
    with line.step("SIGTERM, and its end", "c", until=130.0):
        now.at += 12
        (told,) = line.to_tree()
    assert (told["underWayForSeconds"], told["leftSeconds"]) == (12.0, 18.0)
    assert "leftSeconds" not in line.to_tree()[0]


def test_the_beginning_and_the_end_of_a_long_life_are_kept():
    line = Timeline(Now())
    for number in range(1000):
        line.note(str(number))
    kept = [int(each["what"]) for each in line.to_tree()]
    assert kept[0] == 0
    assert kept[-1] == 999
    assert len(kept) < 200


def test_a_node_remembers_the_last_pod_of_a_name_and_not_more_pods_than_it_may():
    lines = Timelines(Now())
    lines.begin("default/p", "1")
    lines.begin("default/p", "2")
    found = lines.find("default/p")
    assert found is not None
    assert found[0] == "2"
    for number in range(1000):
        lines.begin(f"default/{number}", str(number))
    assert lines.find("default/p") is None
    assert lines.find("default/999") is not None


def test_a_worker_says_where_it_is():
    state = PodState(Phase.TERMINATING, deadline=130.0)
    probed = {("c", "liveness"): Probed(False, "no", 90.0)}
    standing = Standing(state, 2, "busy", {"c": Trouble("ErrImagePull", "no")}, {"c": BackOff(20.0)}, probed)
    dead = Container("1", "c", state="exited", finished_at=95.0)
    told = explain(standing, ObservedPod("u", containers=(dead,)), 100.0)
    assert (told["phase"], told["graceLeftSeconds"], told["problem"], told["failures"]) == ("terminating", 30.0, "busy", 2)
    assert told["containers"]["c"]["trouble"] == {"reason": "ErrImagePull", "message": "no"}
    assert told["containers"]["c"]["startsAgainInSeconds"] == 15.0
    assert told["containers"]["c"]["probes"]["liveness"]["succeeded"] is False
