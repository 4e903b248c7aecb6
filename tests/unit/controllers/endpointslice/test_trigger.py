"""Since when what an EndpointSlice tells has been true.

v1.36.4 staging/src/k8s.io/endpointslice/util/trigger_time_tracker.go:88. Upstream remembers what it saw of each pod; here what
is written is the memory, so that nothing is lost when the process is.
"""

from typing import Any

import pytest

from tiphys.controllers.endpointslice.trigger import trigger

SERVICE = {"metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z"}}


def pod(uid: str, second: int, ready: str = "True") -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": f"2026-01-01T00:01:{second:02}Z"}
    return {"metadata": {"name": uid, "uid": uid}, "status": {"conditions": [condition]}}


def test_the_first_one_tells_of_the_service():
    assert trigger(SERVICE, [pod("a", 5)], None, {"a": True}) == "2026-01-01T00:00:00Z"


def test_the_first_of_several_changes():
    assert trigger(SERVICE, [pod("a", 5), pod("b", 3)], {}, {"a": True, "b": True}) == "2026-01-01T00:01:03Z"


@pytest.mark.differs(
    "remembers when each pod last changed, to tell since when Endpoints and EndpointSlices have been true; a controller "
    "manager that starts anew has forgotten it, and gives the next write the time at which the Service was made.",
    "what is written is the memory: a change is told once, also across a restart.",
)
def test_what_has_been_told_is_told_no_more():
    pods = [pod("a", 3), pod("b", 5), pod("c", 7, "False")]
    assert (
        trigger(SERVICE, pods, {"a": True, "b": True, "c": True}, {"a": True, "b": True, "c": False}) == "2026-01-01T00:01:07Z"
    )


def test_a_change_of_something_else_has_no_time():
    assert trigger(SERVICE, [pod("a", 3), pod("b", 5)], {"a": True, "b": True}, {"a": True, "b": True}) == ""


def test_a_pod_that_went_has_no_time():
    assert trigger(SERVICE, [pod("a", 3)], {"a": True, "b": True}, {"a": True}) == ""
