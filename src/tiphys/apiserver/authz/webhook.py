"""Questions that somebody else answers: each is sent to a webhook as a SubjectAccessReview, and the answer kept for a while.

https://kubernetes.io/docs/reference/access-authn-authz/webhook/
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tiphys.apiserver.authn.review_client import NotAnswered
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import NO_OPINION, Attributes, Decision, Rules, Verdict
from tiphys.apiserver.authz.conditions import Conditions, Undecided
from tiphys.apiserver.authz.review import spec_of
from tiphys.machinery.tree import Obj

MOST_REMEMBERED = 8192
LONGEST_REMEMBERED = 10_000
"""Questions whose parts are longer than that in all are not kept: those who ask choose most of them."""
ALLOWED_SECONDS = 300.0
DENIED_SECONDS = 30.0

Ask = Callable[[Obj], Awaitable[Obj]]
_Key = tuple[User | str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    version: str = "v1"
    allowed_seconds: float = ALLOWED_SECONDS
    denied_seconds: float = DENIED_SECONDS
    on_error: Verdict = Verdict.NO_OPINION
    """What counts while the webhook cannot be asked."""


class WebhookAuthorizer:
    def __init__(
        self, ask: Ask, settings: Settings, monotonic: Callable[[], float], conditions: Conditions | None = None
    ) -> None:
        """Of requests for which not all `conditions` hold, it has no opinion."""
        self._conditions = conditions
        self._ask = ask
        self._settings = settings
        self._monotonic = monotonic
        self._kept: OrderedDict[_Key, tuple[Decision, float]] = OrderedDict()

    def authorize(self, asked: Attributes) -> Decision | Awaitable[Decision]:
        if self._conditions is not None:
            try:
                if not self._conditions.hold(asked):
                    return NO_OPINION
            except Undecided as problem:
                return Decision(self._settings.on_error, problem=str(problem))
        key = _key(asked)
        kept = self._kept.get(key)
        if kept is not None and self._monotonic() < kept[1]:
            self._kept.move_to_end(key)
            return kept[0]
        return self._asked(asked, key)

    async def _asked(self, asked: Attributes, key: _Key) -> Decision:
        review = {
            "kind": "SubjectAccessReview",
            "apiVersion": f"authorization.k8s.io/{self._settings.version}",
            "metadata": {},
            "spec": spec_of(asked, self._settings.version),
            "status": {"allowed": False},
        }
        try:
            status = await self._ask(review)
        except NotAnswered as problem:
            return Decision(self._settings.on_error, problem=str(problem))
        decision = decision_of(status)
        seconds = self._settings.allowed_seconds if status.get("allowed") else self._settings.denied_seconds
        if seconds > 0 and _may_be_kept(asked):
            self._kept[key] = decision, self._monotonic() + seconds
            if len(self._kept) > MOST_REMEMBERED:
                self._kept.popitem(last=False)
        return decision

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002 - only the webhook knows
        return Rules(incomplete=True, problem="webhook authorizer does not support user rule resolution")


def decision_of(status: Obj) -> Decision:
    allowed, denied, reason = bool(status.get("allowed")), bool(status.get("denied")), str(status.get("reason") or "")
    if denied:
        both = "webhook subject access review returned both allow and deny response" if allowed else ""
        return Decision(Verdict.DENY, reason, both)
    return Decision(Verdict.ALLOW if allowed else Verdict.NO_OPINION, reason)


def _key(asked: Attributes) -> _Key:
    return (
        asked.user,
        asked.verb,
        asked.group,
        asked.version,
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
        asked.path,
        asked.field_selector,
        asked.label_selector,
    )


def _may_be_kept(asked: Attributes) -> bool:
    chosen = (
        asked.namespace,
        asked.verb,
        asked.group,
        asked.version,
        asked.resource,
        asked.subresource,
        asked.name,
        asked.path,
    )
    return sum(map(len, chosen)) < LONGEST_REMEMBERED
