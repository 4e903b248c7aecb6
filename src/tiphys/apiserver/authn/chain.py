"""All authenticators in order: the first that knows the credential decides.

A credential that is refused does not make its bearer anonymous: unless another one is good, the request ends with 401.
"""

from collections.abc import Sequence

from tiphys.apiserver.authn.anonymous import Anonymous
from tiphys.apiserver.authn.outcome import Authenticated, Refused, RequestAuthenticator
from tiphys.apiserver.authn.user import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, User
from tiphys.base.http.messages import Request

MOST_REMEMBERED = 10_000


class Chain:
    def __init__(self, authenticators: Sequence[RequestAuthenticator], anonymous: Anonymous | None = None) -> None:
        self._authenticators = tuple(authenticators)
        self._anonymous = anonymous
        self._grouped: dict[User, User] = {}

    async def identify(self, request: Request, now: float) -> User:
        """Raises Refused: answer 401, in the words `Unauthorized`, whatever the reason."""
        return self.with_group((await self._first(request, now)).user)

    async def authenticate(self, request: Request, now: float) -> Authenticated:
        """The same, with all that is known of the credential."""
        return self._authenticated(await self._first(request, now))

    async def _first(self, request: Request, now: float) -> Authenticated:
        problems: list[str] = []
        for authenticator in self._authenticators:
            try:
                outcome = authenticator.authenticate(request, now)
                if outcome is not None and not isinstance(outcome, Authenticated):
                    outcome = await outcome
            except Refused as refusal:
                problems.append(str(refusal))
                continue
            if outcome is not None:
                return outcome
        if not problems and self._anonymous is not None:
            nobody = self._anonymous.authenticate(request, now)
            if nobody is not None:
                return nobody
        raise Refused(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else "no credential")

    def _authenticated(self, outcome: Authenticated) -> Authenticated:
        user = self.with_group(outcome.user)
        if user is outcome.user:
            return outcome
        return Authenticated(user, outcome.audiences, outcome.warning, outcome.used_secret)

    def with_group(self, user: User) -> User:
        """The user as one of system:authenticated; the same object each time, for the caches behind."""
        found = self._grouped.get(user)
        if found is None:
            if len(self._grouped) >= MOST_REMEMBERED:
                self._grouped.clear()
            found = self._grouped[user] = authenticated(user)
        return found


def authenticated(user: User) -> User:
    if user.name == ANONYMOUS or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return user.with_groups(AUTHENTICATED_GROUP)
