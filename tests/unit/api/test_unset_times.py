"""Times that nobody has set are null in what is stored and shown.

v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time.go:162: a zero metav1.Time is written as null, and `omitempty`
does not leave out a struct (staging/src/k8s.io/api/core/v1/types.go:3602, :3278, :6931).
"""

from tiphys.api.core.events import EVENTS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.events.events import EVENTS as NEW_EVENTS
from tiphys.api.kind import Kind
from tiphys.machinery.tree import Obj


def status(kind: Kind, given: Obj) -> Obj:
    obj: Obj = {"metadata": {"name": "x", "namespace": "default"}, "status": given}
    assert kind.default is not None
    kind.default(obj)
    found: Obj = obj["status"]
    return found


def test_conditions_of_a_pod():
    (condition,) = status(PODS, {"conditions": [{"type": "Ready", "status": "True"}]})["conditions"]
    assert condition == {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}


def test_what_is_set_stays():
    since = "2026-01-01T00:00:00Z"
    (condition,) = status(PODS, {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]})[
        "conditions"
    ]
    assert condition["lastTransitionTime"] == since


def test_states_of_containers():
    states = {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}
    (container,) = status(PODS, {"containerStatuses": [states]})["containerStatuses"]
    assert container["state"]["running"] == {"startedAt": None}
    assert container["lastState"]["terminated"] == {"exitCode": 1, "startedAt": None, "finishedAt": None}


def test_a_state_that_is_not_there_is_not_made_up():
    (container,) = status(PODS, {"containerStatuses": [{"state": {"waiting": {"reason": "Pulling"}}}]})["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "Pulling"}}


def test_conditions_of_other_kinds():
    ready = {"type": "Ready", "status": "True"}
    assert status(NODES, {"conditions": [dict(ready)]})["conditions"] == [
        {**ready, "lastHeartbeatTime": None, "lastTransitionTime": None}
    ]
    for kind in (NAMESPACES, REPLICATION_CONTROLLERS):
        assert status(kind, {"conditions": [dict(ready)]})["conditions"] == [{**ready, "lastTransitionTime": None}]


def test_events_of_both_versions():
    """core/v1/types.go:7605, events/v1/types.go:43; the newer version leaves out reporters that nobody named."""
    old: Obj = {"metadata": {"name": "x"}}
    assert EVENTS.default is not None
    EVENTS.default(old)
    assert {name: old[name] for name in ("firstTimestamp", "lastTimestamp", "eventTime")} == {
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
    }
    assert NEW_EVENTS.conversion is not None
    new = NEW_EVENTS.conversion.from_stored(old)
    assert new["deprecatedFirstTimestamp"] is None
    assert "reportingInstance" not in new
    assert NEW_EVENTS.conversion.to_stored(new)["reportingInstance"] == ""
