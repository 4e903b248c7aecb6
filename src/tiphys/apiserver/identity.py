"""Who makes a request, as the pipeline asks for it: the authenticators in order, then impersonation."""

from dataclasses import replace

from tiphys.apiserver.access import attributes_of
from tiphys.apiserver.authn.bearer import Bearer
from tiphys.apiserver.authn.chain import Chain, authenticated
from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.authz.impersonation import Impersonation, wanted_by
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.request import RequestInfo
from tiphys.base.http.messages import Request
from tiphys.machinery import errors
from tiphys.machinery.tree import Obj


class Identity:
    def __init__(self, chain: Chain, bearer: Bearer, authorizer: Authorizer) -> None:
        self._chain = chain
        self._bearer = bearer
        self._impersonation = Impersonation(authorizer)

    async def authenticate(self, request: Request, info: RequestInfo, now: float) -> User:
        try:
            user = await self._chain.identify(request, now)
        except Refused:
            raise errors.unauthorized() from None
        wanted = wanted_by(request.headers)
        if wanted is None:
            return user
        become = await self._impersonation.become(wanted, attributes_of(user, info))
        return replace(become, impersonator=user)

    async def review(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | str:
        try:
            outcome = await self._bearer.review(token, audiences, now)
        except Refused as refusal:
            return str(refusal)
        return Authenticated(authenticated(outcome.user), outcome.audiences, outcome.warning, outcome.used_secret)


class StoredObjects:
    """The objects that tokens are bound to: implements authn.outcome.Lookup."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def service_account(self, namespace: str, name: str) -> Obj | None:
        return self._lookup.get("serviceaccounts", f"{namespace}/{name}")

    def secret(self, namespace: str, name: str) -> Obj | None:
        return self._lookup.get("secrets", f"{namespace}/{name}")

    def pod(self, namespace: str, name: str) -> Obj | None:
        return self._lookup.get("pods", f"{namespace}/{name}")

    def node(self, name: str) -> Obj | None:
        return self._lookup.get("minions", name)
