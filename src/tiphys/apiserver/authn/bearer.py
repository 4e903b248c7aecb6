"""Tokens in the Authorization header, and those that browsers can only put among the WebSocket protocols."""

import base64
import binascii
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from tiphys.apiserver.authn.outcome import Authenticated, Outcome, Refused, TokenAuthenticator
from tiphys.base.http.messages import Request

_MEMO = "bearer token"
PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io."


class Bearer:
    """`audiences`: the names of this server, for whom every token is meant that names nobody itself."""

    def __init__(self, authenticators: Sequence[TokenAuthenticator], audiences: Sequence[str] = ()) -> None:
        self._authenticators = tuple(authenticators)
        self._audiences = tuple(audiences)

    def authenticate(self, request: Request, now: float) -> Outcome:
        header = request.headers.get("authorization", "")
        token = _remembered(request, header) if header else ""
        token = token or _of_protocols(request)
        if not token:
            return None
        return self._first(token, (), now)

    async def review(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated:
        """Whose token it is, and for whom it is meant: for a TokenReview. Raises Refused."""
        outcome = self._first(token, audiences, now)
        if not isinstance(outcome, Authenticated):
            outcome = await outcome
        return outcome if outcome.audiences else replace(outcome, audiences=self._audiences)

    def _first(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | Awaitable[Authenticated]:
        """From the first that knows it; at once, as long as nobody has to be asked."""
        problems: list[str] = []
        for position, authenticator in enumerate(self._authenticators):
            try:
                outcome = authenticator.authenticate_token(token, audiences, now)
            except Refused as refusal:
                problems.append(str(refusal))
                continue
            if outcome is None:
                continue
            if not isinstance(outcome, Authenticated):
                return self._rest(outcome, position + 1, problems, token, audiences, now)
            meant = self._meant_for(outcome, audiences)
            if meant is not None:
                return meant
        raise Refused(_told(["invalid bearer token", *problems]))

    async def _rest(
        self,
        asked: Awaitable[Authenticated | None],
        position: int,
        problems: list[str],
        token: str,
        audiences: tuple[str, ...],
        now: float,
    ) -> Authenticated:
        """The answer of one that had to ask, or else of those after it."""
        try:
            answer = await asked
            if answer is not None and (meant := self._meant_for(answer, audiences)) is not None:
                return meant
        except Refused as refusal:
            problems.append(str(refusal))
        for authenticator in self._authenticators[position:]:
            try:
                outcome = authenticator.authenticate_token(token, audiences, now)
                if outcome is not None and not isinstance(outcome, Authenticated):
                    outcome = await outcome
            except Refused as refusal:
                problems.append(str(refusal))
                continue
            if outcome is not None and (outcome := self._meant_for(outcome, audiences)) is not None:
                return outcome
        raise Refused(_told(["invalid bearer token", *problems]))

    def _meant_for(self, outcome: Authenticated, asked: tuple[str, ...]) -> Authenticated | None:
        if outcome.audiences or not self._audiences or not asked:
            return outcome
        both = tuple(each for each in self._audiences if each in asked)
        return replace(outcome, audiences=both) if both else None


def _remembered(request: Request, header: str) -> str:
    """The token of the header. On one connection it is nearly always the same one, whose hash is then known already."""
    memo = request.peer.memo
    kept: tuple[str, str] | None = memo.get(_MEMO)
    if kept is not None and kept[0] == header:
        return kept[1]
    token = _of_header(header)
    memo[_MEMO] = header, token
    return token


def _told(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


def _of_header(header: str) -> str:
    parts = header.strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def _of_protocols(request: Request) -> str:
    offered = request.headers.get("sec-websocket-protocol", "")
    if PROTOCOL_PREFIX not in offered or request.headers.get("upgrade", "").lower() != "websocket":
        return ""
    protocols = [each.strip() for each in offered.split(",")]
    tokens = [each.removeprefix(PROTOCOL_PREFIX) for each in protocols if each.startswith(PROTOCOL_PREFIX)]
    if len(tokens) > 1:
        raise Refused("multiple base64.bearer.authorization tokens specified")
    try:
        token = base64.urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4)).decode()
    except UnicodeDecodeError as error:
        raise Refused("invalid base64.bearer.authorization token") from error
    except binascii.Error as error:
        raise Refused("invalid base64.bearer.authorization token encoding") from error
    # One of the others is what the server answers with.
    if token and len(protocols) == 1:
        raise Refused("missing additional subprotocol")
    return token
