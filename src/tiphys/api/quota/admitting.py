"""Whether a write fits into a quota, and what the quota's usage is afterwards."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import Kind
from tiphys.api.quota import scopes, usage
from tiphys.api.quota.usage import Amounts
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

ZERO = quantity.from_int(0)

_MUST_ASK = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
"""A quota of these obliges every container to say how much it wants."""


class Exceeded(Exception):
    """The words of the refusal."""


def charge(quota: Obj, kind: Kind, new: Obj, old: Obj | None, now: float) -> Obj | None:
    """The quota with the write charged to it; None if it does not change. Raises Exceeded."""
    if not scopes.counts(quota, kind, new):
        return None
    name, status = quota["metadata"]["name"], quota.get("status") or {}
    hard = _parsed(status.get("hard"))
    limited = usage.limited(kind, hard)
    _check_constraints(name, kind, new, limited)
    used = _parsed(status.get("used"))
    if any(each not in used for each in limited):
        raise Exceeded(f"status unknown for quota: {name}, resources: {','.join(sorted(limited))}")
    asked = _delta(quota, kind, new, old, now)
    asked = {each: amount for each, amount in asked.items() if each in hard and amount.sign()}
    if not asked:
        return None
    total = {each: used.get(each, ZERO).add(amount) for each, amount in asked.items()}
    over = {each for each, amount in total.items() if amount > hard[each]}
    if over:
        raise Exceeded(
            f"exceeded quota: {name}, requested: {told(asked, over)}, used: {told(used, over)}, limited: {told(hard, over)}"
        )
    changed = {**(status.get("used") or {}), **{each: str(amount) for each, amount in total.items()}}
    return {**quota, "status": {**status, "used": changed}}


def _delta(quota: Obj, kind: Kind, new: Obj, old: Obj | None, now: float) -> Amounts:
    wanted = usage.of(kind, new, now)
    if old is None or not scopes.counts(quota, kind, old):
        return wanted
    before = usage.of(kind, old, now)
    more = {name: amount.sub(before.get(name, ZERO)) for name, amount in wanted.items()}
    # What shrinks is given back by the controller, which has seen the smaller object.
    return {name: amount for name, amount in more.items() if amount.sign() > 0}


def _check_constraints(name: str, kind: Kind, new: Obj, limited: Iterable[str]) -> None:
    if kind.plural != "pods" or kind.group or (new["spec"].get("resources") or {}):
        return
    missing: dict[str, set[str]] = {}
    required = _MUST_ASK.intersection(limited)
    for container in _containers(new["spec"]) if required else ():
        resources = container.get("resources") or {}
        has = usage.container_usage(_parsed(resources.get("requests")), _parsed(resources.get("limits")))
        for each in required - has.keys():
            missing.setdefault(each, set()).add(container["name"])
    if missing:
        listed = "; ".join(f"{each} for: {','.join(sorted(missing[each]))}" for each in sorted(missing))
        raise Exceeded(f"failed quota: {name}: must specify {listed}")


def _containers(spec: Obj) -> Iterator[Obj]:
    yield from spec["containers"]
    yield from spec.get("initContainers") or ()


def _parsed(amounts: Obj | None) -> dict[str, Quantity]:
    return {name: quantity.parse(value) for name, value in (amounts or {}).items()}


def told(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names) if name in amounts)
