"""Requests of users whom only outsiders know: an OpenID issuer and a webhook of our own, asked over TLS, in a whole server."""

import asyncio
import base64
from contextlib import asynccontextmanager

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tiphys.apiserver.authn.open_id import Claim, JwtIssuer
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.webhook import Settings as WebhookSettings
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.base.tls_context import Serving
from tiphys.client.kubeconfig import Access
from tiphys.cmd.authentication import TokenWebhook
from tiphys.cmd.authorization import Step, Webhook

NOW, DAY = RealClock().now(), 86400.0
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
AUTHORITY = tls.make_authority("outsider", now=NOW)
PAIR = tls.issue(AUTHORITY, tls.Subject("outsider"), ["server"], now=NOW, names=["127.0.0.1"])
KEY = ec.generate_private_key(ec.SECP256R1())
JWK = {**jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k", "use": "sig", "alg": "ES256"}


class Outsider:
    def __init__(self):
        self.url = ""
        self.reviews = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def handle(self, request):
        await self.hold.wait()
        if request.path == "/.well-known/openid-configuration":
            return Response(200, orjson.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys"}))
        if request.path == "/keys":
            return Response(200, orjson.dumps({"keys": [JWK]}))
        review = orjson.loads(request.body)
        if review["kind"] == "SubjectAccessReview":
            return self.judge(review)
        self.reviews.append(review["spec"]["token"])
        known = review["spec"]["token"] == "known"
        status = {"authenticated": known, "user": {"username": "wanda", "groups": ["web"]}} if known else {}
        return Response(201, orjson.dumps({**review, "status": status}))

    def judge(self, review):
        """alice may list pods; nobody may look at secrets."""
        spec = review["spec"]
        self.reviews.append(spec)
        what = spec.get("resourceAttributes") or {}
        allowed = (spec["user"], what.get("verb"), what.get("resource")) == ("alice", "list", "pods")
        status = {"allowed": allowed, "denied": what.get("resource") == "secrets", "reason": "says the webhook"}
        return Response(201, orjson.dumps({**review, "status": status}))


@asynccontextmanager
async def outsider():
    made = Outsider()
    server = Server(made.handle, ssl_context=Serving(PAIR).context)
    _, port = await server.listen("127.0.0.1", 0)
    made.url = f"https://127.0.0.1:{port}"
    try:
        yield made
    finally:
        await server.shutdown(0)


def with_outsider(opened, work):
    async def whole():
        async with outsider() as other:
            issuer = JwtIssuer(
                other.url,
                ("cluster",),
                Claim("email", "oidc:"),
                Claim("groups", "oidc:"),
                algorithms=("ES256",),
                authority=AUTHORITY.certificate,
            )
            webhook = TokenWebhook(Access(f"{other.url}/review", AUTHORITY.certificate))
            async with opened(issuers=(issuer,), token_webhook=webhook) as served:
                await work(served, other)

    asyncio.run(whole())


def token(other, **changed):
    claims = {"iss": other.url, "aud": "cluster", "exp": NOW + DAY, "email": "alice@example.org", "groups": ["devs"], **changed}
    return jwt.encode(claims, KEY, algorithm="ES256", headers={"kid": "k"})


def test_who_an_issuer_and_a_webhook_know(opened):
    async def work(served, other):
        status, answer = await served.ask(WHO, token(other), "POST", body={})
        assert status == 201
        assert answer["status"]["userInfo"] == {
            "username": "oidc:alice@example.org",
            "groups": ["oidc:devs", "system:authenticated"],
        }
        status, answer = await served.ask(WHO, "known", "POST", body={})
        assert answer["status"]["userInfo"]["username"] == "wanda"
        # The webhook comes last: it never hears of tokens that somebody before it knows.
        await served.ask("/version", "alice")
        await served.ask("/version", "known")
        assert other.reviews == ["known"]

    with_outsider(opened, work)


@pytest.mark.parametrize("changed", [{"exp": NOW - 10}, {"aud": "else"}, {"nbf": NOW + DAY}, {"email_verified": False}])
def test_bad_tokens_get_401_and_nobody_learns_why(opened, changed):
    async def work(served, other):
        status, answer = await served.ask("/version", token(other, **changed))
        assert (status, answer["message"]) == (401, "Unauthorized")

    with_outsider(opened, work)


def test_who_waits_for_an_outsider_keeps_nobody_else_waiting(opened):
    async def work(served, other):
        other.hold.clear()
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(served.ask("/version", "known"))
            status, _ = await served.ask("/version", "alice")
            assert status == 200
            assert not slow.done()
            other.hold.set()
        assert slow.result()[0] == 200

    with_outsider(opened, work)


def test_a_token_review_asks_outsiders_too(opened):
    async def work(served, other):
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        _, answer = await served.ask(path, "root", "POST", body={"spec": {"token": token(other)}})
        assert answer["status"]["user"]["username"] == "oidc:alice@example.org"
        _, answer = await served.ask(path, "root", "POST", body={"spec": {"token": token(other, aud="x")}})
        assert "oidc: verify token: oidc: expected audience" in answer["status"]["error"]

    with_outsider(opened, work)


def test_passwords_and_paths_of_the_anonymous(with_server):
    def basic(text):
        return [("Authorization", "Basic " + base64.b64encode(text.encode()).decode())]

    async def work(served):
        _, answer = await served.ask(WHO, method="POST", body={}, headers=basic("peter:secret"))
        assert answer["status"]["userInfo"]["username"] == "peter"
        assert (await served.ask("/version", headers=basic("peter:wrong")))[0] == 401
        assert (await served.ask("/version", headers=basic("nobody:secret")))[0] == 401
        # Anonymous only where it has been allowed, whatever authorization would say.
        assert (await served.ask("/version"))[0] == 200
        for path in ("/api", "/version/", "/versio%6e/x", "//version"):
            assert (await served.ask(path))[0] == 401

    with_server(work, passwords={"secret": User("peter", (), "1")}, anonymous_paths=("/version",))


@pytest.mark.parametrize(
    ("who", "path", "status", "message"),
    [
        ("alice", "/api/v1/pods", 200, ""),
        ("bob", "/api/v1/pods", 403, "at the cluster scope: says the webhook"),
        # What the webhook denies nobody after it allows; who may do everything is not asked about.
        ("alice", "/api/v1/secrets", 403, "at the cluster scope: says the webhook"),
        ("root", "/api/v1/secrets", 200, ""),
        # No opinion: the roles decide.
        ("bob", "/version", 200, ""),
    ],
)
def test_a_webhook_among_the_authorizers(opened, who, path, status, message):
    async def whole():
        async with outsider() as other:
            webhook = Webhook(Access(f"{other.url}/review", AUTHORITY.certificate), WebhookSettings())
            modes = {"authorizers": (Step("Webhook", webhook), Step("RBAC"))}
            async with opened(settings=modes) as served:
                for _ in range(2):
                    got, answer = await served.ask(path, who)
                    assert got == status
                    assert message in (answer.get("message", "") if isinstance(answer, dict) else "")
                assert len(other.reviews) == (0 if who == "root" else 1)

    asyncio.run(whole())


# v1.36 staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go:83
def test_nobody_to_ask_is_nobodys_refusal(opened):
    async def whole():
        webhook = Webhook(Access("https://127.0.0.1:1/review"), WebhookSettings())
        async with opened(settings={"authorizers": (Step("Webhook", webhook), Step("RBAC"))}) as served:
            status, page = await served.ask("/api/v1/pods?labelSelector=a", "alice")
            assert status == 500
            assert page.startswith('Internal Server Error: "/api/v1/pods?labelSelector=a": Post "https://127.0.0.1:1/review": ')
            assert (await served.ask("/api/v1/pods", "root"))[0] == 200

    asyncio.run(whole())
