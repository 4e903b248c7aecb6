"""Who asks, and whether they may: client certificates and tokens, and the API server's word on both."""

from collections.abc import Mapping

from tiphys.api.authentication.tokenreviews import TOKEN_REVIEWS
from tiphys.api.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from tiphys.base.clock import Clock
from tiphys.base.http.messages import Request
from tiphys.base.tls import subject_of
from tiphys.client.interface import Client
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.server.paths import Asked, rights
from tiphys.machinery.tree import Obj

_MOST = 1024
User = tuple[str, tuple[str, ...]]
ANONYMOUS: User = ("system:anonymous", ("system:unauthenticated",))


class Unauthorized(Exception):
    """Nobody, or somebody with credentials that are no good."""


class Forbidden(Exception):
    """In upstream's words."""


class _Memory:
    """Answers of the API server, for as long as they may be used."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[object, tuple[object, float]] = {}

    def get(self, key: object) -> object | None:
        value, until = self._held.get(key, (None, 0.0))
        return value if self._clock.monotonic() < until else None

    def put(self, key: object, value: object, seconds: float) -> None:
        if len(self._held) >= _MOST:
            self._held.clear()
        self._held[key] = (value, self._clock.monotonic() + seconds)


class Access:
    def __init__(self, client: Client, clock: Clock, node: str, settings: Obj) -> None:
        """`settings`: a whole KubeletConfiguration."""
        self._client = client
        self._node = node
        told = settings["authentication"]
        self._anonymous: bool = told["anonymous"]["enabled"]
        self._asks_about_tokens: bool = told["webhook"]["enabled"]
        self._token_seconds = seconds(told["webhook"], "cacheTTL")
        rules = settings["authorization"]
        self._always = rules["mode"] == "AlwaysAllow"
        self._allowed_seconds = seconds(rules["webhook"], "cacheAuthorizedTTL")
        self._denied_seconds = seconds(rules["webhook"], "cacheUnauthorizedTTL")
        self._verdicts, self._users = _Memory(clock), _Memory(clock)

    async def check(self, request: Request, asked: Asked) -> None:
        """Raises Unauthorized, Forbidden, and ApiError where the API server does not say."""
        user = await self._user(request)
        if self._always:
            return
        wanted = rights(asked, request.method, self._node)
        for each in wanted:
            if await self._allowed(user, each):
                return
        named = f"[{' '.join(each['subresource'] for each in wanted)}]"
        raise Forbidden(f"Forbidden (user={user[0]}, verb={wanted[0]['verb']}, resource=nodes, subresource(s)={named})\n")

    async def _user(self, request: Request) -> User:
        if request.peer.certificate is not None:
            subject = subject_of(request.peer.certificate)
            return subject.common_name, (*subject.organizations, "system:authenticated")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip() and self._asks_about_tokens:
            return await self._holder(token.strip())
        if not self._anonymous:
            raise Unauthorized
        return ANONYMOUS

    async def _holder(self, token: str) -> User:
        known = self._users.get(token)
        if known is not None:
            return known  # type: ignore[return-value]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._client.create(TOKEN_REVIEWS, review)).get("status") or {}
        if not status.get("authenticated"):
            raise Unauthorized
        user: Obj = status.get("user") or {}
        found: User = (user.get("username", ""), tuple(user.get("groups") or ()))
        self._users.put(token, found, self._token_seconds)
        return found

    async def _allowed(self, user: User, wanted: Mapping[str, str]) -> bool:
        key = (user, wanted["verb"], wanted["subresource"])
        known = self._verdicts.get(key)
        if known is not None:
            return bool(known)
        review: Obj = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user[0], "groups": list(user[1]), "resourceAttributes": dict(wanted)},
        }
        status = (await self._client.create(SUBJECT_ACCESS_REVIEWS, review)).get("status") or {}
        verdict = bool(status.get("allowed"))
        self._verdicts.put(key, verdict, self._allowed_seconds if verdict else self._denied_seconds)
        return verdict
