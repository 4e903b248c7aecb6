"""Token cleaner: a bootstrap token that has expired is deleted."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api import bootstrap_tokens
from tiphys.api.core.secrets import SECRETS
from tiphys.controllers.bootstrap_signer import keep_token
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import NOTHING, Delete, Plan
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_CONFLICT = frozenset(("Conflict",))
"""Somebody has made it anew."""


@dataclass(frozen=True, slots=True)
class World:
    secret: Obj
    now: float


def _tokens(_: Obj | None, new: Obj | None, __: Caches) -> Iterable[str]:
    return (meta.key(new),) if new is not None and bootstrap_tokens.is_token(new) else ()


class TokenCleaner(Base):
    name = "token-cleaner-controller"
    component = "token-cleaner"
    watches = (Watch(SECRETS, _tokens, keep=keep_token),)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        secret = caches[SECRETS].get(key)
        return World(secret, now) if secret is not None and bootstrap_tokens.is_token(secret) else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        left = bootstrap_tokens.seconds_left(world.secret, world.now)
        if left is None:
            return NOTHING
        return Plan(again_in=left) if left else Plan((Delete(SECRETS, world.secret, tolerate=_CONFLICT),))
