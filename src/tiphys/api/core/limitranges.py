"""LimitRange: what a container, pod or claim of a namespace may ask for, and what it gets when it does not say."""

from collections.abc import Iterator
from typing import Any

from tiphys.api import resources
from tiphys.api.core.rounding import round_up
from tiphys.api.kind import Column, Kind, Strategy
from tiphys.api.pod_template import amounts
from tiphys.machinery import quantity
from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, key, required
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import qualified_name

_TYPES = frozenset(("Pod", "Container", "PersistentVolumeClaim"))
_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = quantity.from_int(1)
_MAX_MILLI = (2**63 - 1) // 1000


def default(limit_range: Obj) -> None:
    limit_range.setdefault("spec", {}).setdefault("limits", None)
    for item in limit_range["spec"].get("limits") or ():
        for part in _PARTS:
            round_up(item.get(part))
        if item.get("type") == "Container":
            _default_container(item)


def _default_container(item: Obj) -> None:
    """A missing limit is the maximum; a missing request is the limit, or else the minimum."""
    limits = (item.get("max") or {}) | (item.get("default") or {})
    requests = (item.get("min") or {}) | limits | (item.get("defaultRequest") or {})
    for part, values in (("default", limits), ("defaultRequest", requests)):
        if values:
            item[part] = values


def prepare_create(limit_range: Obj) -> None:
    """One without a name gets one that nobody else has."""
    metadata = limit_range["metadata"]
    if not metadata.get("name"):
        metadata["name"] = metadata["uid"]


def validate(limit_range: Obj) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, item in enumerate(get(limit_range, ("spec", "limits")) or ()):
        at = index("spec.limits", position)
        kind = item.get("type", "")
        yield from _validate_type(kind, child(at, "type"))
        if kind in seen:
            yield duplicate(child(at, "type"), kind)
        seen.add(kind)
        yield from _validate_item(item, kind, at)


def _validate_type(kind: str, at: str) -> Iterator[FieldError]:
    problems = qualified_name(kind)
    for problem in problems:
        yield invalid(at, kind, problem)
    if not problems and "/" not in kind and kind not in _TYPES:
        yield invalid(at, kind, "must be a standard limit type or fully qualified")


def _validate_item(item: Obj, kind: str, at: str) -> Iterator[FieldError]:
    check = resources.validate_container_name if kind in ("Pod", "Container") else resources.validate_name
    values: dict[str, dict[str, Quantity]] = {}
    for part in ("max", "min", "default", "defaultRequest"):
        given = item.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            if given:
                yield forbidden(child(at, part), "may not be specified when `type` is 'Pod'")
            given = {}
        for name in given:
            yield from check(name, key(child(at, part), name))
        values[part] = amounts.parsed(given)
    if kind == "PersistentVolumeClaim" and "storage" not in values["min"] and "storage" not in values["max"]:
        told = "either minimum or maximum storage value is required, but neither was provided"
        yield required(child(at, "limits"), told)
    for name in item.get("maxLimitRequestRatio") or ():
        yield from check(name, key(child(at, "maxLimitRequestRatio"), name))
    values["maxLimitRequestRatio"] = amounts.parsed(item.get("maxLimitRequestRatio"))
    for name in dict.fromkeys(name for part in values.values() for name in part):
        yield from _validate_resource(name, {part: by_name.get(name) for part, by_name in values.items()}, at)


# (smaller, greater, field that is wrong, value that is shown, what is told)
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _validate_resource(name: str, values: dict[str, Quantity | None], at: str) -> Iterator[FieldError]:
    def wrong(part: str, value: Any, told: str) -> FieldError:
        return invalid(key(child(at, part), name), str(value), told)

    for lower, upper, part, shown, told in _ORDER:
        smaller, greater = values[lower], values[upper]
        if smaller is not None and greater is not None and smaller > greater:
            yield wrong(part, values[shown], told.format(smaller, greater))
    ratio, least, most = values["maxLimitRequestRatio"], values["min"], values["max"]
    if ratio is not None:
        if ratio < _ONE:
            yield wrong("maxLimitRequestRatio", ratio, f"ratio {ratio} is less than 1")
        if least is not None and most is not None:
            allowed, most_allowed = _ratio(ratio, least, most)
            if allowed > most_allowed:
                told = f"ratio {ratio} is greater than max/min = {_go_float(most_allowed)}"
                yield wrong("maxLimitRequestRatio", ratio, told)
    limit, request = values["default"], values["defaultRequest"]
    if not resources.may_be_overcommitted(name) and limit is not None and request is not None and limit != request:
        yield wrong("defaultRequest", request, f"default value {limit} must equal to defaultRequest value {request} in {name}")


def _ratio(ratio: Quantity, least: Quantity, most: Quantity) -> tuple[float, float]:
    if all(each.value() < _MAX_MILLI for each in (ratio, least, most)):
        return ratio.milli() / 1000, _divide(most.milli(), least.milli())
    return float(ratio.value()), _divide(most.value(), least.value())


def _divide(one: int, other: int) -> float:
    if other:
        return one / other
    return float("nan") if not one else float("inf") * one


def _go_float(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:f}"


def _created(limit_range: Obj, _: float) -> Any:
    return limit_range.get("metadata", {}).get("creationTimestamp")


LIMIT_RANGES = Kind(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    singular="limitrange",
    schema="io.k8s.api.core.v1.LimitRange",
    short=("limits",),
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    strategy=Strategy(create_on_update=True),
    # Upstream has no printer for it: the table of last resort shows the time itself, not the age.
    columns=(Column("Created At", _created, description="Time of creation."),),
)
