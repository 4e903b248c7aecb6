"""Tokens in Secrets that were once made by themselves, one an account: those that nobody uses are marked invalid, and a year
later deleted. Whoever still needs one takes the mark away."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.pods import PODS
from tiphys.api.core.pods.references import references_of
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.controllers.account_tokens import account_key, belongs, is_token, keep_token, names
from tiphys.controllers.controller import Base, Caches, Watch, metadata_only, no_keys
from tiphys.controllers.plan import NOT_FOUND, Delete, Patch, Plan
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get

YEAR = 365 * 24 * 3600.0
DAY = 24 * 3600.0
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
TRACKING = "kube-system/kube-apiserver-legacy-service-account-token-tracking"
"""The ConfigMap that says since when the API server notes which tokens are used."""
_CHANGED = frozenset(("Conflict", "NotFound"))


@dataclass(frozen=True, slots=True)
class World:
    secret: Obj
    generated: bool
    """The account names it, so nobody made it by hand."""
    mounted: bool
    since: date | None
    """When the use of tokens began to be noted."""
    period: float
    now: float


def keep_tracking(config_map: Obj) -> Obj:
    return config_map if meta.key(config_map) == TRACKING else metadata_only(config_map)


def _mounted(pod: Obj) -> Iterable[str]:
    return {f"{namespace}/{name}" for plural, namespace, name in references_of(pod) if plural == "secrets"}


def _tokens(_: Obj | None, new: Obj | None, __: Caches) -> Iterable[str]:
    return (meta.key(new),) if new is not None and is_token(new) else ()


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


class LegacyTokens(Base):
    name = "legacy-serviceaccount-token-cleaner-controller"
    component = "legacy-service-account-token-cleaner"
    watches = (
        Watch(SECRETS, _tokens, keep=keep_token),
        Watch(SERVICE_ACCOUNTS, no_keys),
        Watch(PODS, no_keys, {"mounted": _mounted}),
        Watch(CONFIG_MAPS, no_keys, keep=keep_tracking),
    )

    def __init__(self, period: float = YEAR) -> None:
        """`period`: seconds that a token may lie unused."""
        self._period = period

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        secret = caches[SECRETS].get(key)
        if secret is None or not is_token(secret) or meta.is_deleting(secret):
            return None
        account = caches[SERVICE_ACCOUNTS].get(account_key(secret))
        generated = account is not None and belongs(secret, account) and names(account, meta.name(secret))
        tracking = caches[CONFIG_MAPS].get(TRACKING)
        since = _date(get(tracking, ("data", "since"))) if tracking is not None else None
        mounted = generated and bool(caches[PODS].by("mounted", key))
        return World(secret, generated, mounted, since, self._period, now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        if world.since is None or not world.generated:
            return Plan(again_in=DAY)
        secret, today = world.secret, datetime.fromtimestamp(world.now, UTC)
        # The day on which it began is not wholly noted.
        first = datetime.combine(world.since + timedelta(days=1), datetime.min.time(), UTC)
        period = timedelta(seconds=world.period)
        oldest = today - period
        if today < first + period or times.parse(secret["metadata"]["creationTimestamp"]) >= oldest.timestamp():
            return Plan(again_in=DAY)
        labels = meta.labels(secret)
        used = _date(labels.get(LAST_USED))
        if LAST_USED in labels and (used is None or used >= oldest.date()):
            return Plan(again_in=DAY)
        if world.mounted:
            return Plan(again_in=DAY)
        invalid = _date(labels.get(INVALID_SINCE))
        if invalid is None:
            mark = {"metadata": {"uid": meta.uid(secret), "labels": {INVALID_SINCE: today.date().isoformat()}}}
            return Plan((Patch(SECRETS, secret, mark, tolerate=NOT_FOUND),), again_in=DAY)
        if invalid >= oldest.date():
            return Plan(again_in=DAY)
        return Plan((Delete(SECRETS, secret, same_version=True, tolerate=_CHANGED),))
