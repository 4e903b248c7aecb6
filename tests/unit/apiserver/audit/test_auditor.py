"""What is recorded of a request, stage by stage. Authority: v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/filters/audit.go
and pkg/audit/request.go."""

import asyncio
import json

import orjson
import pytest

from tiphys.apiserver.audit.auditor import Auditor
from tiphys.apiserver.audit.policy import read
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.request import parse_query, resolve
from tiphys.apiserver.rest import answers
from tiphys.base.http.messages import Peer, Request, Response, Stream, Upgrade
from tiphys.machinery import errors

NOW = 1_700_000_000.25
ALICE = User("alice", ("devs",), "7", (("scopes", ("a",)),))
POD = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"t","managedFields":[{"manager":"x"}]}}'
PODS = "/api/v1/namespaces/t/pods"


class Clock:
    def now(self):
        return NOW + 1

    def monotonic(self):
        return 0.0

    async def sleep(self, seconds):
        raise AssertionError(seconds)


class Kept(list):
    def put(self, event):
        self.append(orjson.loads(orjson.dumps(event)))


def audited(level, answer, method="POST", path=PODS, body=POD, user=ALICE, headers=(), query="", authorized=True, **policy):
    """The events of one request."""
    rules = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": level, **policy}]}
    kept = Kept()
    auditor = Auditor(read(json.dumps(rules)), [kept], Clock())
    request = Request(method, path, query, {"user-agent": "tests", **dict(headers)}, body, Peer("10.0.0.9"))
    info = resolve(method, path, parse_query(query))
    entry = auditor.received("id-1", request, info, user, NOW)
    if entry is None:
        return kept, answer
    if authorized and user is not None:
        auditor.allowed(entry, "RBAC: allowed")
    return kept, auditor.answered(entry, answer)


def test_metadata_tells_who_what_when_and_how_it_ended():
    kept, answer = audited(
        "Metadata", Response(201, POD), query="dryRun=All", headers={"x-forwarded-for": "1.2.3.4, 5.6.7.8"}.items()
    )
    assert answer.body == POD
    received, complete = kept
    assert received["stage"], complete["stage"] == ("RequestReceived", "ResponseComplete")
    assert complete == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-1",
        "stage": "ResponseComplete",
        "requestURI": PODS + "?dryRun=All",
        "verb": "create",
        "user": {"username": "alice", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a"]}},
        "sourceIPs": ["1.2.3.4", "5.6.7.8", "10.0.0.9"],
        "userAgent": "tests",
        "objectRef": {"resource": "pods", "namespace": "t", "name": "p", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "2023-11-14T22:13:20.250000Z",
        "stageTimestamp": "2023-11-14T22:13:21.250000Z",
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "RBAC: allowed"},
    }
    assert "responseStatus" not in received


@pytest.mark.parametrize(
    ("level", "sent", "answered"), [("Metadata", False, False), ("Request", True, False), ("RequestResponse", True, True)]
)
def test_the_level_says_which_objects_are_recorded(level, sent, answered):
    event = audited(level, Response(201, [POD[:10], POD[10:]]))[0][-1]
    assert (event.get("requestObject") == json.loads(POD)) is sent
    assert (event.get("responseObject") == json.loads(POD)) is answered


def test_none_records_nothing():
    assert audited("None", Response(201, POD))[0] == []


def test_managed_fields_are_left_out_where_that_is_wanted():
    items = b'{"kind":"PodList","apiVersion":"v1","items":[%b]}' % POD
    event = audited("RequestResponse", Response(201, items), omitManagedFields=True)[0][-1]
    assert "managedFields" not in event["requestObject"]["metadata"]
    assert "managedFields" not in event["responseObject"]["items"][0]["metadata"]


def test_stages_that_are_omitted_are_not_recorded():
    kept, _ = audited("Metadata", Response(201, POD), omitStages=["RequestReceived"])
    assert [each["stage"] for each in kept] == ["ResponseComplete"]


def test_a_patch_is_recorded_as_it_was_sent():
    media = {"content-type": "application/merge-patch+json"}
    patch = b'{"metadata":{"labels":{"a":"b"}}}'
    event = audited("Request", Response(200, POD), "PATCH", PODS + "/p", patch, headers=media.items())[0][-1]
    assert event["requestObject"] == json.loads(patch)
    event = audited("Request", Response(400, b""), "PATCH", PODS + "/p", b"{broken", headers=media.items())[0][-1]
    assert "requestObject" not in event


def test_a_refusal_is_told_at_every_level():
    refusal = answers.error(errors.forbidden("", "pods", "p", "no"))
    event = audited("Metadata", refusal, authorized=False)[0][-1]
    assert event["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'pods "p" is forbidden: no',
        "reason": "Forbidden",
        "details": {"name": "p", "kind": "pods"},
        "code": 403,
    }
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert "requestObject" not in event


def test_somebody_unknown_is_recorded_too():
    (event,) = audited("Metadata", answers.error(errors.unauthorized()), user=None)[0]
    assert (event["stage"], event["user"], event["responseStatus"]["code"]) == ("ResponseStarted", {}, 401)


def test_delete_options_are_told_in_the_version_that_upstream_tells():
    options = b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'
    event = audited("Request", Response(200, POD), "DELETE", PODS + "/p", options)[0][-1]
    assert event["requestObject"] == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "gracePeriodSeconds": 0}


def test_who_acts_as_somebody_else_is_named_first():
    bob = User("bob", ("ops",), impersonator=ALICE)
    event = audited("Metadata", Response(200, POD), user=bob, users=["alice"])[0][-1]
    assert event["user"]["username"] == "alice"
    assert event["impersonatedUser"] == {"username": "bob", "groups": ["ops"]}


@pytest.mark.parametrize("make", [lambda run: Stream(run), lambda run: Upgrade(run)])
def test_a_watch_is_complete_when_it_has_ended(make):
    seen = []

    async def run(channel):
        seen.append((channel, [each["stage"] for each in kept]))

    kept, answer = audited("RequestResponse", make(run), "GET", PODS, b"", query="watch=1")
    assert [each["stage"] for each in kept] == ["RequestReceived", "ResponseStarted"]
    asyncio.run(answer.run("channel"))
    assert seen == [("channel", ["RequestReceived", "ResponseStarted"])]
    assert [each["stage"] for each in kept] == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert kept[-1]["responseStatus"]["code"] == (200 if isinstance(answer, Stream) else 101)


def test_our_own_fault_is_a_panic():
    rules = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
    kept = Kept()
    auditor = Auditor(read(json.dumps(rules)), [kept], Clock())
    request = Request("GET", PODS, "", {})
    entry = auditor.received("id-1", request, resolve("GET", PODS, {}), ALICE, NOW)
    auditor.failed(entry, "KeyError")
    auditor.answered(entry, Response(500, b""))
    assert [each["stage"] for each in kept] == ["RequestReceived", "Panic"]
    assert kept[-1]["responseStatus"]["message"] == "APIServer panic'd: KeyError"
