"""Who is asked about tokens and rights: what is sent, what the answers mean, and how long they count."""

import asyncio
from asyncio import run
from inspect import isawaitable

import orjson
import pytest

from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.review_client import ATTEMPTS, NotAnswered, ReviewClient
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authn.webhook import WebhookTokens
from tiphys.apiserver.authz.attributes import Attributes, Decision, Verdict
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.review import spec_of
from tiphys.apiserver.authz.webhook import LONGEST_REMEMBERED, Settings, WebhookAuthorizer
from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.client.kubeconfig import Access

NOW = 1000.0
ALICE = {"authenticated": True, "user": {"username": "alice", "uid": "1", "groups": ["devs"], "extra": {"k": ["v"]}}}


class Somebody:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    async def ask(self, review):
        self.asked.append(review)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, str):
            raise NotAnswered(answer)
        return answer


def waited(outcome):
    async def main():
        return await outcome

    return run(main()) if isawaitable(outcome) else outcome


def review(tokens, token="t", audiences=(), now=NOW):
    return waited(tokens.authenticate_token(token, audiences, now))


# v1.36.4 staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go:99
def test_who_has_a_token():
    somebody = Somebody(ALICE)
    found = review(WebhookTokens(somebody.ask, ("api",)))
    assert found == Authenticated(User("alice", ("devs",), "1", (("k", ("v",)),)), ("api",))
    assert somebody.asked[0]["apiVersion"] == "authentication.k8s.io/v1"
    assert somebody.asked[0]["spec"] == {"token": "t", "audiences": ["api"]}


@pytest.mark.parametrize(
    ("status", "asked", "meant"),
    [
        (ALICE, (), ("api", "two")),
        (ALICE, ("two", "x"), ("two",)),
        (ALICE, ("x",), None),
        ({**ALICE, "audiences": ["x"]}, ("x",), ("x",)),
        ({**ALICE, "audiences": ["y"]}, ("x",), None),
        ({**ALICE, "audiences": ["y"]}, (), None),
        ({"authenticated": False}, (), None),
    ],
)
def test_for_whom_a_token_is_meant(status, asked, meant):
    found = review(WebhookTokens(Somebody(status).ask, ("api", "two")), audiences=asked)
    assert (found and found.audiences) == meant


def test_an_answer_counts_for_a_while_and_is_given_at_once():
    somebody = Somebody(ALICE, {"authenticated": False})
    tokens = WebhookTokens(somebody.ask, seconds=10)
    first = review(tokens)
    assert tokens.authenticate_token("t", (), NOW + 9) is first
    assert review(tokens, now=NOW + 10) is None
    assert tokens.authenticate_token("t", (), NOW + 19) is None
    assert len(somebody.asked) == 2


def test_audiences_have_answers_of_their_own():
    somebody = Somebody(ALICE)
    tokens = WebhookTokens(somebody.ask, ("api",))
    review(tokens)
    review(tokens, audiences=("x",))
    assert len(somebody.asked) == 2


@pytest.mark.parametrize("answer", ["nobody there", {"authenticated": False, "error": "bad token"}])
def test_what_went_wrong_is_not_kept(answer):
    somebody = Somebody(answer, ALICE)
    tokens = WebhookTokens(somebody.ask)
    with pytest.raises(Refused, match=r"nobody there|bad token"):
        review(tokens)
    assert review(tokens).user.name == "alice"


ASKED = Attributes(User("alice", ("devs",), "1", (("k", ("v",)),)), "get", "apps", "v1", "deployments", "scale", "ns", "web")


class Ticking:
    def __init__(self):
        self.at = 0.0

    def monotonic(self):
        return self.at


# v1.36.4 staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go:200
def test_what_is_asked_about_a_request():
    assert spec_of(ASKED) == {
        "user": "alice",
        "uid": "1",
        "groups": ["devs"],
        "extra": {"k": ["v"]},
        "resourceAttributes": {
            "namespace": "ns",
            "verb": "get",
            "group": "apps",
            "version": "v1",
            "resource": "deployments",
            "subresource": "scale",
            "name": "web",
        },
    }
    assert spec_of(ASKED, "v1beta1")["group"] == ["devs"]
    assert spec_of(Attributes(User("a"), "get", path="/x")) == {
        "user": "a",
        "nonResourceAttributes": {"path": "/x", "verb": "get"},
    }


def test_selectors_are_told():
    asked = Attributes(
        User("a"), "list", resource="pods", field_selector="spec.nodeName=n,a!=b", label_selector="x in (b,a),!y"
    )
    told = spec_of(asked)["resourceAttributes"]
    assert told["fieldSelector"]["requirements"] == [
        {"key": "a", "operator": "NotIn", "values": ["b"]},
        {"key": "spec.nodeName", "operator": "In", "values": ["n"]},
    ]
    assert told["labelSelector"]["requirements"] == [
        {"key": "x", "operator": "In", "values": ["a", "b"]},
        {"key": "y", "operator": "DoesNotExist"},
    ]
    nonsense = Attributes(User("a"), "list", resource="pods", field_selector="((", label_selector="((")
    assert "fieldSelector" not in spec_of(nonsense)["resourceAttributes"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"allowed": True, "reason": "r"}, Decision(Verdict.ALLOW, "r")),
        ({"allowed": False, "reason": "r"}, Decision(Verdict.NO_OPINION, "r")),
        ({"allowed": False, "denied": True}, Decision(Verdict.DENY)),
        (
            {"allowed": True, "denied": True},
            Decision(Verdict.DENY, "", "webhook subject access review returned both allow and deny response"),
        ),
        ({}, Decision(Verdict.NO_OPINION)),
    ],
)
def test_what_answers_mean(status, expected):
    authorizer = WebhookAuthorizer(Somebody(status).ask, Settings(), Ticking().monotonic)
    assert run(Chain([authorizer]).authorize(ASKED)).verdict is expected.verdict
    assert waited(authorizer.authorize(ASKED)) == expected


def test_answers_count_as_long_as_their_kind_does():
    clock, somebody = Ticking(), Somebody({"allowed": True}, {"allowed": False}, {"allowed": True})
    authorizer = WebhookAuthorizer(somebody.ask, Settings(allowed_seconds=300, denied_seconds=30), clock.monotonic)
    assert waited(authorizer.authorize(ASKED)).allowed
    clock.at = 299
    assert authorizer.authorize(ASKED).allowed
    clock.at = 300
    assert not waited(authorizer.authorize(ASKED)).allowed
    clock.at = 329
    assert not authorizer.authorize(ASKED).allowed
    clock.at = 330
    assert waited(authorizer.authorize(ASKED)).allowed


@pytest.mark.parametrize(("on_error", "verdict"), [(Verdict.NO_OPINION, Verdict.NO_OPINION), (Verdict.DENY, Verdict.DENY)])
def test_failing_is_no_permission_and_not_kept(on_error, verdict):
    somebody = Somebody("nobody there", {"allowed": True})
    chain = Chain([WebhookAuthorizer(somebody.ask, Settings(on_error=on_error), Ticking().monotonic)])
    decision = run(chain.authorize(ASKED))
    assert (decision.verdict, decision.problem) == (verdict, "nobody there")
    assert run(chain.authorize(ASKED)).allowed


def test_long_questions_are_not_kept():
    somebody = Somebody({"allowed": True})
    authorizer = WebhookAuthorizer(somebody.ask, Settings(), Ticking().monotonic)
    for _ in range(2):
        waited(authorizer.authorize(Attributes(User("a"), "get", path="/" + "x" * LONGEST_REMEMBERED)))
    assert len(somebody.asked) == 2


class Patient(RealClock):
    """Sleeps in no time."""

    def __init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)


def ask_server(*answers, access=None):
    """The outcome of a review that a server of our own answers, what it has seen, and how long the client paused."""

    async def main():
        seen, left = [], list(answers)

        async def handle(request):
            seen.append(request)
            status, body = left.pop(0) if len(left) > 1 else left[0]
            return Response(status, orjson.dumps(body))

        server, clock = Server(handle), Patient()
        _, port = await server.listen("127.0.0.1", 0)
        client = ReviewClient(Access(f"http://127.0.0.1:{port}/review?x=1", **(access or {})), clock)
        try:
            outcome = await client.ask({"kind": "TokenReview"})
        except NotAnswered as problem:
            outcome = str(problem)
        client.close()
        await server.shutdown(0)
        return outcome, seen, clock.slept

    return asyncio.run(main())


def test_a_review_goes_to_the_very_url():
    outcome, seen, _ = ask_server((200, {"status": {"allowed": True}}), access={"token": "secret"})
    assert outcome == {"allowed": True}
    assert (seen[0].method, seen[0].path, seen[0].query) == ("POST", "/review", "x=1")
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert orjson.loads(seen[0].body) == {"kind": "TokenReview"}


def test_a_server_in_trouble_is_asked_again():
    outcome, seen, slept = ask_server((503, {}), (500, {}), (201, {"status": {"ok": 1}}))
    assert (outcome, len(seen), slept) == ({"ok": 1}, 3, [0.5, 0.75])
    outcome, seen, _ = ask_server((503, {}))
    assert "503" in outcome
    assert len(seen) == ATTEMPTS


@pytest.mark.parametrize("answer", [(403, {}), (200, []), (200, {"status": 3}), (200, {})])
def test_answers_that_are_none(answer):
    outcome, seen, _ = ask_server(answer)
    assert isinstance(outcome, str)
    assert len(seen) == 1


def test_nobody_there():
    client = ReviewClient(Access("http://127.0.0.1:1/x"), Patient())
    with pytest.raises(NotAnswered, match=r"127\.0\.0\.1:1"):
        run(client.ask({}))
