"""PriorityLevelConfiguration: how many requests run at once, and what becomes of those that find no seat."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from tiphys.api.flowcontrol.conditions import prepare_create, validate_conditions
from tiphys.api.flowcontrol.mandatory import EXEMPT, GROUP, LEVELS
from tiphys.api.kind import AGE, SPEC, Column, Kind, Problems, Strategy
from tiphys.api.pod_template import internal
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get

MAX_QUEUES = 10_000_000
MAX_HASH_BITS = 60

_PRESERVE_ZERO = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_QUEUING = "spec.limited.limitResponse.queuing"


def default(level: Obj) -> None:
    spec = level.setdefault("spec", {})
    for part, shares in (("exempt", 0), ("limited", 30)):
        settings = spec.get(part)
        if settings is None:
            continue
        for field, value in (("nominalConcurrencyShares", shares), ("lendablePercent", 0)):
            if settings.get(field) is None:
                settings[field] = value
    queuing = get(spec, ("limited", "limitResponse", "queuing"))
    if queuing is not None:
        for field, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            if not queuing.get(field):
                queuing[field] = value


def validate(level: Obj) -> Iterator[FieldError]:
    metadata, spec = level["metadata"], level.get("spec") or {}
    name = metadata.get("name", "")
    if _PRESERVE_ZERO in (metadata.get("annotations") or {}):
        yield forbidden("metadata.annotations", f"annotation '{_PRESERVE_ZERO}' is forbidden")
    yield from _validate_spec(name, spec)
    yield from _validate_mandatory(name, spec)
    yield from validate_conditions(level)


def validate_status(new: Obj, _old: Obj) -> Problems:
    return validate_conditions(new)


def _validate_spec(name: str, spec: Obj) -> Iterator[FieldError]:
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    if (name == EXEMPT) != (kind == "Exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _validate_shares(exempt, "spec.exempt")
            yield from _validate_lendable(exempt, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _validate_limited(limited)
    elif not kind:
        yield required("spec.type")
    else:
        yield not_supported("spec.type", kind, ("Exempt", "Limited"))


def _validate_mandatory(name: str, spec: Obj) -> Iterator[FieldError]:
    wanted = LEVELS.get(name)
    if wanted is None:
        return
    shown = internal.told(spec, "PriorityLevelConfigurationSpec")
    if name != EXEMPT:
        if spec != wanted:
            yield invalid("spec", shown, f"spec of '{name}' must equal the fixed value")
    elif {**spec, "exempt": wanted["exempt"]} != wanted:
        yield invalid("spec", shown, f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value")


def _validate_shares(settings: Obj, at: str) -> Iterator[FieldError]:
    shares = settings.get("nominalConcurrencyShares") or 0
    if shares < 0:
        yield invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _validate_lendable(settings: Obj, at: str) -> Iterator[FieldError]:
    percent = settings.get("lendablePercent")
    if percent is not None and not 0 <= percent <= 100:
        yield invalid(f"{at}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _validate_limited(limited: Obj) -> Iterator[FieldError]:
    yield from _validate_shares(limited, "spec.limited")
    yield from _validate_response(limited.get("limitResponse") or {})
    yield from _validate_lendable(limited, "spec.limited")
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        yield invalid("spec.limited.borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def _validate_response(response: Obj) -> Iterator[FieldError]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            yield forbidden(_QUEUING, "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue":
        if queuing is None:
            yield required(_QUEUING, "must not be empty if limited.limitResponse.type is Limited")
        else:
            yield from _validate_queuing(queuing)
    elif not kind:
        yield required("spec.limited.limitResponse.type")
    else:
        yield not_supported("spec.limited.limitResponse.type", kind, ("Queue", "Reject"))


def _validate_queuing(queuing: Obj) -> Iterator[FieldError]:
    queues, hand = queuing.get("queues", 0), queuing.get("handSize", 0)
    length = queuing.get("queueLengthLimit", 0)
    if length <= 0:
        yield invalid(f"{_QUEUING}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{_QUEUING}.queues", queues, "must be positive")
    elif queues > MAX_QUEUES:
        yield invalid(f"{_QUEUING}.queues", queues, f"must not be greater than {MAX_QUEUES}")
    at = f"{_QUEUING}.handSize"
    if hand <= 0:
        yield invalid(at, hand, "must be positive")
    elif hand > queues:
        yield invalid(at, hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        told = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        yield invalid(at, hand, told)


def _cell(*steps: str) -> Callable[[Obj, float], Any]:
    def cell(level: Obj, _now: float) -> Any:
        return get(level, ("spec", "limited", *steps), "<none>")

    return cell


PRIORITY_LEVEL_CONFIGURATIONS = Kind(
    group=GROUP,
    version="v1",
    kind="PriorityLevelConfiguration",
    plural="prioritylevelconfigurations",
    singular="prioritylevelconfiguration",
    schema="io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
    namespaced=False,
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_status=validate_status,
    strategy=Strategy(status=True, generation_of=SPEC, status_keeps_metadata=True),
    columns=(
        Column("Type", "spec.type", description="Whether the level is limited at all."),
        Column("NominalConcurrencyShares", _cell("nominalConcurrencyShares"), description="Its part of the server's seats."),
        Column("Queues", _cell("limitResponse", "queuing", "queues"), description="How many queues it has."),
        Column("HandSize", _cell("limitResponse", "queuing", "handSize"), description="How many queues a flow may use."),
        Column(
            "QueueLengthLimit",
            _cell("limitResponse", "queuing", "queueLengthLimit"),
            description="How many requests may wait in one queue.",
        ),
        AGE,
    ),
)
