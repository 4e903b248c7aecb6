"""Sends a review (of a token, a right, images) to the one URL that a kubeconfig file names, and brings back its status."""

from base64 import b64encode
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from tiphys.base.clock import Clock
from tiphys.base.http.client import Headers, HttpClient, Reply
from tiphys.base.tls_context import client_context
from tiphys.client.kubeconfig import Access
from tiphys.machinery.tree import Obj

ATTEMPTS = 5
FIRST_PAUSE = 0.5
GROWTH = 1.5
"""Of the pause from attempt to attempt."""
_AGAIN = frozenset((429, 500, 503, 504))


class NotAnswered(Exception):
    """Nobody there, or no answer that could be understood."""


class ReviewClient:
    def __init__(self, access: Access, clock: Clock, *, seconds: float = 30.0, first_pause: float = FIRST_PAUSE) -> None:
        """`seconds`: the longest that one attempt may take."""
        parts = urlsplit(access.server)
        secure = parts.scheme == "https"
        self._access = access
        self._clock = clock
        self._seconds = seconds
        self._first_pause = first_pause
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        authorities = (access.authority,) if access.authority else ()
        self._http = HttpClient(
            parts.hostname or "",
            parts.port or (443 if secure else 80),
            ssl_context=client_context(authorities, access.pair, insecure=access.insecure) if secure else None,
            server_name=access.server_name,
            headers=(("Accept", "application/json"), ("Content-Type", "application/json")),
        )

    async def ask(self, review: Obj) -> Obj:
        """The status. Raises NotAnswered."""
        body = orjson.dumps(review)
        pause = self._first_pause
        for attempt in range(1, ATTEMPTS + 1):
            reply, problem = await self._once(body)
            if reply is not None and reply.status not in _AGAIN:
                return _status(reply)
            if attempt == ATTEMPTS or (reply is None and "reset" not in problem):
                break
            await self._clock.sleep(pause)
            pause *= GROWTH
        raise NotAnswered(problem)

    async def _once(self, body: bytes) -> tuple[Reply | None, str]:
        """The answer, if there is one; and what is wrong."""
        server = self._access.server
        try:
            reply = await self._http.request("POST", self._path, _credentials(self._access), body, timeout=self._seconds)
        except TimeoutError:
            return None, f'Post "{server}": context deadline exceeded'
        except OSError as error:
            return None, f'Post "{server}": {error}'
        return reply, f"the server at {server} answered {reply.status}"

    def close(self) -> None:
        self._http.close()


def _status(reply: Reply) -> Obj:
    if not 200 <= reply.status < 300:
        raise NotAnswered(f"the webhook answered {reply.status}")
    try:
        review = orjson.loads(reply.body)
    except orjson.JSONDecodeError as error:
        raise NotAnswered(f"the webhook's answer is no JSON: {error}") from None
    status = review.get("status") if isinstance(review, dict) else None
    if not isinstance(status, dict):
        raise NotAnswered("the webhook's answer has no status")
    return status


def _credentials(access: Access) -> Headers:
    token = access.token
    if access.token_file:
        try:
            token = Path(access.token_file).read_text().strip()
        except OSError as error:
            raise NotAnswered(f"cannot read {access.token_file}: {error.strerror}") from None
    if token:
        return (("Authorization", f"Bearer {token}"),)
    if access.basic is not None:
        return (("Authorization", f"Basic {b64encode(':'.join(access.basic).encode()).decode()}"),)
    return ()
