"""Tokens of service accounts that live in Secrets: filled in, and gone with their account.

Nobody makes such Secrets by himself any more; who wants a token without an end makes one, and finds it in there.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.core.secrets import SECRETS, SERVICE_ACCOUNT_NAME, SERVICE_ACCOUNT_TOKEN
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.client.interface import Client
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch, metadata_only
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Delete, Inquire, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

SERVICE_ACCOUNT_UID = "kubernetes.io/service-account.uid"
_CHANGED = frozenset(("Conflict", "NotFound"))
"""Somebody else was faster; what they did is told."""

Issue = Callable[[Obj, Obj], str]
"""The token of an account, for a Secret."""


def keep_token(secret: Obj) -> Obj:
    return secret if is_token(secret) else metadata_only(secret)


def is_token(secret: Obj) -> bool:
    return secret.get("type") == SERVICE_ACCOUNT_TOKEN


def account_key(secret: Obj) -> str:
    """Of the account that a token is for."""
    return f"{meta.namespace(secret)}/{meta.annotations(secret).get(SERVICE_ACCOUNT_NAME, '')}"


def by_account(secret: Obj) -> Iterable[str]:
    return (account_key(secret),) if is_token(secret) else ()


def belongs(secret: Obj, account: Obj) -> bool:
    """An account made anew under the old name is another one."""
    uid = meta.annotations(secret).get(SERVICE_ACCOUNT_UID, "")
    return account_key(secret) == meta.key(account) and uid in ("", meta.uid(account))


@dataclass(frozen=True, slots=True)
class World:
    secret: Obj
    account: Obj | None
    """None: no cache knows it."""
    asked: bool
    """The server does not know it either."""


@dataclass(frozen=True, slots=True)
class Dangling:
    """An account that names a Secret that is gone."""

    account: Obj
    secret: str


def _secret_keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    if new is not None and is_token(new):
        yield meta.key(new)
    elif new is None and old is not None and is_token(old):
        yield f"{account_key(old)}|{meta.name(old)}"


def _account_keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    account = new if new is not None else old
    assert account is not None
    if old is None or new is None:
        yield from (meta.key(secret) for secret in caches[SECRETS].by("account", meta.key(account)))


async def account_of(client: Client, arguments: Mapping[str, Any]) -> Obj | None:
    """The account may be too new for the cache."""
    namespace, _, name = arguments["account"].partition("/")
    try:
        return await client.get(SERVICE_ACCOUNTS, name, namespace)
    except ApiError as refused:
        if refused.reason != "NotFound":
            raise
        return None


class AccountTokens(Base):
    name = "serviceaccount-token-controller"
    component = "serviceaccount-token-controller"
    watches = (
        Watch(SECRETS, _secret_keys, {"account": by_account}, keep=keep_token),
        Watch(SERVICE_ACCOUNTS, _account_keys),
    )
    inquiries: Mapping[str, Inquiry] = {"account": account_of}

    def __init__(self, issue: Issue, root_ca: str = "") -> None:
        self._issue = issue
        self._root_ca = root_ca

    def observe(self, key: str, caches: Caches, now: float) -> World | Dangling | None:  # noqa: ARG002 - no part of it
        place, _, gone = key.partition("|")
        if gone:
            account = caches[SERVICE_ACCOUNTS].get(place)
            there = caches[SECRETS].get(f"{place.partition('/')[0]}/{gone}") is not None
            return None if account is None or there or not names(account, gone) else Dangling(account, gone)
        secret = caches[SECRETS].get(key)
        if secret is None or not is_token(secret) or meta.is_deleting(secret):
            return None
        asked = key in caches.answers
        account = caches.answers.get(key) or caches[SERVICE_ACCOUNTS].get(account_key(secret))
        return World(secret, account if account is not None and belongs(secret, account) else None, asked)

    def reconcile(self, world: World | Dangling) -> Plan:
        if isinstance(world, Dangling):
            left = [each for each in world.account.get("secrets") or () if each.get("name") != world.secret]
            return Plan((Update(SERVICE_ACCOUNTS, {**world.account, "secrets": left}, tolerate=NOT_FOUND),))
        secret, account = world.secret, world.account
        if account is None and not world.asked:
            return Plan((Inquire("account", {"account": account_key(secret)}),))
        if account is None:
            return Plan((Delete(SECRETS, secret, tolerate=_CHANGED),))
        filled = self._filled(secret, account)
        if filled == (secret.get("data") or {}):
            return NOTHING
        annotations = {**meta.annotations(secret), SERVICE_ACCOUNT_NAME: meta.name(account)}
        annotations[SERVICE_ACCOUNT_UID] = meta.uid(account)
        metadata = {**secret["metadata"], "annotations": annotations}
        return Plan((Update(SECRETS, {**secret, "metadata": metadata, "data": filled}, tolerate=_CHANGED),))

    def _filled(self, secret: Obj, account: Obj) -> Obj:
        data = dict(secret.get("data") or {})
        if self._root_ca:
            data["ca.crt"] = b64encode(self._root_ca.encode()).decode()
        if not data.get("namespace"):
            data["namespace"] = b64encode(meta.namespace(secret).encode()).decode()
        if not data.get("token"):
            data["token"] = b64encode(self._issue(account, secret).encode()).decode()
        return data


def names(account: Obj, secret: str) -> bool:
    return any(each.get("name") == secret for each in account.get("secrets") or ())
