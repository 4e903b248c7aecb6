"""`tiphys trace`: what several components remember, as one story."""

from tiphys.kubectl.trace import timeline
from tiphys.kubectl.trace.timeline import Remembered
from tiphys.machinery import times

BEGAN = 1_700_000_000.0
POD = {
    "metadata": {"name": "p", "namespace": "default", "creationTimestamp": times.rfc3339(BEGAN)},
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": times.rfc3339(BEGAN + 2)}]},
}


def at(seconds):
    return times.rfc3339_micro(BEGAN + seconds)


def known():
    request = {"at": at(0), "verb": "create", "subresource": "", "user": "me", "waitedSeconds": 0.002, "seconds": 0.01}
    parts = [{"what": "admit", "seconds": 0.001}, {"what": "store", "seconds": 0.007}]
    decision = {"at": BEGAN + 0.02, "node": "n", "message": "", "attempts": 2, "waitedSeconds": {"active": 0.005, "backoff": 0}}
    steps = [
        {"what": "sandbox and network", "began": at(0.03), "seconds": 0.1},
        {"what": "start", "container": "c", "began": at(0.14), "seconds": 0.05, "problem": "no such file"},
        {"what": "status written (phase Running, Ready)", "began": at(0.2), "seconds": 0.01},
        {"what": "SIGTERM, and its end", "container": "c", "began": at(0.5), "underWayForSeconds": 3.0},
    ]
    return Remembered(POD, [{**request, "parts": parts}], {}, {"decision": decision}, {"steps": steps})


def test_everything_stands_in_its_place_with_its_time():
    assert timeline.text(known()).splitlines()[2:] == [
        "  AFTER    TOOK     COMPONENT   STEP",
        "  0.0 ms   10 ms    apiserver   create pods by me (who, may they 2.0 ms, admit 1.0 ms, store 7.0 ms)",
        "  20 ms             scheduler   chose n at try 2; in the queue before: 5.0 ms active",
        "  30 ms    100 ms   kubelet     sandbox and network",
        "  140 ms   50 ms    kubelet     start (c): no such file",
        "  200 ms   10 ms    kubelet     status written (phase Running, Ready)",
        "  500 ms            kubelet     SIGTERM, and its end (c), still at it after 3000 ms",
        "",
        "From the first request to Ready: 210 ms.",
    ]


def test_where_nobody_remembers_the_pod_itself_has_to_do():
    assert [(each.at, each.what) for each in timeline.entries(Remembered(POD))] == [(BEGAN, "created"), (BEGAN + 2, "Ready")]
    assert timeline.ready_after(timeline.entries(Remembered(POD))) is None


def test_nothing_comes_before_the_pod():
    """A condition knows the second in which the pod was made, not the moment."""
    asked = known()
    late = {**asked.requests[0], "at": at(2.4)}
    listed = timeline.entries(Remembered(POD, [late], {}, None, None))
    assert [(each.component, round(each.at - BEGAN, 3)) for each in listed] == [("apiserver", 2.4), ("pod", 2.4)]


def test_what_cannot_be_told_is_said():
    assert timeline.text(Remembered(POD, silent=("You may not ask.",))).endswith("\n\nYou may not ask.")
