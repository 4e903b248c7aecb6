"""Taking on somebody else's identity: what has to be allowed before a request counts as another user's.

There are several ways (modes), tried in order. The constrained ones ask for the right to the identity and, apart from it, for
the right to do this very thing as somebody else; the legacy one asks for the verb `impersonate` alone. If no mode lets the
asking user through, the answer is what the first one that applied has said.
https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/5284-constrained-impersonation
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from tiphys.apiserver.authn.header_text import all_of, utf8
from tiphys.apiserver.authn.user import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    MASTERS,
    NODE_PREFIX,
    NODES,
    UNAUTHENTICATED_GROUP,
    User,
    extra_of,
    service_account_groups,
    split_service_account,
)
from tiphys.apiserver.authz.attributes import Attributes, Authorizer
from tiphys.apiserver.authz.denial import denial
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import quote
from tiphys.machinery.validators import dns1123_subdomain, domain_prefixed_path

GROUP = "authentication.k8s.io"
NODE_NAME = "authentication.kubernetes.io/node-name"
ASSOCIATED_KEYS = "authentication.kubernetes.io/associated-node-keys"
PREFIX = "impersonate-"
EXTRA_PREFIX = PREFIX + "extra-"
"""Of headers."""
MOST_REMEMBERED = 10_000
MANY = 4
"""From so many groups or extras on, a right to all of them is looked for first."""


@dataclass(frozen=True, slots=True)
class Wanted:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] | None = None

    @property
    def only_name(self) -> bool:
        return not (self.groups or self.uid or self.extra)

    @property
    def node(self) -> str:
        """The node that this user is; empty for anybody else."""
        name = self.name.removeprefix(NODE_PREFIX) if self.name.startswith(NODE_PREFIX) else ""
        return name if name and not dns1123_subdomain(name) else ""

    @property
    def account(self) -> tuple[str, str] | None:
        return split_service_account(self.name)


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    """Empty for the legacy one."""
    applies: Callable[[Wanted, User], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _is_own_node(wanted: Wanted, requestor: User) -> bool:
    """A pod's service account, about the node that the pod runs on."""
    if not wanted.only_name or not wanted.node or split_service_account(requestor.name) is None:
        return False
    return dict(requestor.extra).get(NODE_NAME, ()) == (wanted.node,)


ASSOCIATED = Mode("associated-node", _is_own_node)
MODES = (
    ASSOCIATED,
    Mode("arbitrary-node", lambda wanted, _: wanted.only_name and bool(wanted.node)),
    Mode("serviceaccount", lambda wanted, _: wanted.only_name and wanted.account is not None),
    Mode("user-info", lambda wanted, _: not wanted.node and wanted.account is None),
    Mode("", lambda _wanted, _: True),
)


class Impersonation:
    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._last: OrderedDict[str, Mode] = OrderedDict()
        """By which mode a user has come through last: tried first the next time."""

    async def become(self, wanted: Wanted, asked: Attributes) -> User:
        """Who the request counts for, if `asked.user` may make it as `wanted`. Raises the 403."""
        first: ApiError | None = None
        last = self._last.get(asked.user.name)
        for mode in MODES if last is None else (last, *(mode for mode in MODES if mode is not last)):
            if not mode.applies(wanted, asked.user):
                continue
            try:
                user = await self._try(mode, wanted, asked)
            except ApiError as problem:
                first = first or problem
                continue
            self._remember(asked.user.name, mode)
            return user
        assert first is not None, "the legacy mode applies to everybody"
        raise first

    def _remember(self, name: str, mode: Mode) -> None:
        self._last[name] = mode
        self._last.move_to_end(name)
        if len(self._last) > MOST_REMEMBERED:
            self._last.popitem(last=False)

    async def _try(self, mode: Mode, wanted: Wanted, asked: Attributes) -> User:
        requestor = asked.user
        if mode is ASSOCIATED:
            # A decision must not depend on which pod or node it is about: only which kinds of claims there are counts.
            keys = tuple(sorted(key for key, _ in requestor.extra))
            requestor = User(requestor.name, requestor.groups, requestor.uid, ((ASSOCIATED_KEYS, keys),))
        if mode.name:
            verb = f"impersonate-on:{mode.name}:{asked.verb}"
            await self._check(replace(asked, user=requestor, verb=verb))
        groups = await self._check_name(mode, wanted, requestor)
        if wanted.uid:
            await self._check(Attributes(requestor, mode.verb, GROUP, "v1", "uids", name=wanted.uid))
        await self._check_groups(mode, wanted, requestor)
        await self._check_extra(mode, wanted, requestor)
        return _complete(wanted, groups)

    async def _check(self, asked: Attributes) -> None:
        decision = await self._authorizer.authorize(asked)
        if not decision.allowed:
            raise denial(asked, ": ".join(filter(None, (decision.problem, decision.reason))))

    async def _check_name(self, mode: Mode, wanted: Wanted, requestor: User) -> tuple[str, ...]:
        """The groups that go with the name, where none are asked for."""
        groups = wanted.groups
        asked = Attributes(requestor, mode.verb, GROUP if mode.name else "", "v1", "users", name=wanted.name)
        if mode.name and wanted.node:
            asked.resource, asked.name = "nodes", "*" if mode is ASSOCIATED else wanted.node
            groups = (NODES,)
        if wanted.account is not None:
            asked.resource = "serviceaccounts"
            asked.namespace, asked.name = wanted.account
            groups = groups or service_account_groups(asked.namespace)
        await self._check(asked)
        return groups

    async def _check_groups(self, mode: Mode, wanted: Wanted, requestor: User) -> None:
        if not wanted.groups:
            return
        asked = Attributes(requestor, mode.verb, GROUP if mode.name else "", "v1", "groups")
        if mode.name and "" in wanted.groups:
            raise denial(asked, "impersonating the empty string group is not allowed")
        if mode.name and MASTERS in wanted.groups:
            asked.name = MASTERS
            raise denial(asked, "impersonating the system:masters group is not allowed")
        if mode.name and len(wanted.groups) >= MANY and await self._may(replace(asked, name="*")):
            return
        for group in wanted.groups:
            await self._check(replace(asked, name=group))

    async def _check_extra(self, mode: Mode, wanted: Wanted, requestor: User) -> None:
        extra = wanted.extra or {}
        if not extra:
            return
        asked = Attributes(requestor, mode.verb, GROUP, "v1", "userextras")
        if mode.name:
            for problem in _problems(extra):
                raise denial(asked, problem)
            many = len(extra) >= MANY or sum(map(len, extra.values())) >= MANY
            if many and await self._may(replace(asked, subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                await self._check(replace(asked, subresource=key, name=value))

    async def _may(self, asked: Attributes) -> bool:
        return (await self._authorizer.authorize(asked)).allowed


def _problems(extra: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for key, values in extra.items():
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        for problem in domain_prefixed_path(key, "extra.key"):
            yield f"impersonating an invalid key in extra is not allowed: {problem}"
        if key != key.lower():
            yield f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if not values:
            yield "impersonating empty values in extra is not allowed"
        if "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _complete(wanted: Wanted, groups: tuple[str, ...]) -> User:
    """With the group that everybody of that sort is in."""
    user = User(wanted.name, groups, wanted.uid, extra_of(wanted.extra or {}))
    if wanted.name == ANONYMOUS:
        return user.with_groups(UNAUTHENTICATED_GROUP)
    return user if UNAUTHENTICATED_GROUP in groups else user.with_groups(AUTHENTICATED_GROUP)


def wanted_by(headers: Mapping[str, str]) -> Wanted | None:
    """Whose identity the headers ask for; None if nobody's. Raises the 400 where they do not say a name."""
    for header in headers:
        if header.startswith(PREFIX):
            return _wanted(headers)
    return None


def _wanted(headers: Mapping[str, str]) -> Wanted | None:
    name, uid = utf8(headers.get(PREFIX + "user", "")), utf8(headers.get(PREFIX + "uid", ""))
    listed = headers.get(PREFIX + "group")
    groups = tuple(all_of(listed)) if listed is not None else ()
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers.items():
        if header.startswith(EXTRA_PREFIX):
            key = unquote(header.removeprefix(EXTRA_PREFIX))
            extra[key] = tuple(all_of(value))
    if name:
        return Wanted(name, groups, uid, extra)
    if uid or groups or extra:
        raise errors.bad_request(f"requested {_spell(groups, uid, extra)} without impersonating a user name")
    return None


def _spell(groups: tuple[str, ...], uid: str, extra: Mapping[str, tuple[str, ...]]) -> str:
    """As upstream prints it."""
    kinds = "map[string][]string"
    told = ", ".join(f"{quote(key)}:{_strings(values)}" for key, values in sorted(extra.items()))
    extras = f"{kinds}{{{told}}}" if extra else f"{kinds}(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{quote(uid)}, Groups:{_strings(groups)}, Extra:{extras}}}'


def _strings(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quote, values))}}}" if values else "[]string(nil)"
