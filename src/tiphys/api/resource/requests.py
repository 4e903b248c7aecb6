"""What a claim may ask for: requests, constraints between them, and settings for the drivers."""

from collections.abc import Iterator
from typing import Any

import orjson

from tiphys.api.resource.names import (
    by_name,
    validate_each,
    validate_fully_qualified,
    validate_label,
)
from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_subdomain, label_name, label_value, size

MOST_REQUESTS = 32
MOST_CONSTRAINTS = 32
MOST_CONFIGS = 32
MOST_SELECTORS = 32
MOST_ALTERNATIVES = 8
LONGEST_EXPRESSION = 10 * 1024
LARGEST_PARAMETERS = 10 * 1024

MODES = ("All", "ExactCount")
OPERATORS = ("Equal", "Exists")
EFFECTS = ("NoExecute", "NoSchedule", "None")
ONE_OF_TWO = "exactly one of `exactly` or `firstAvailable` is required"
NO_SUCH_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

Names = dict[str, set[str]]
"""Of requests, and of the alternatives within each."""


def default(devices: Obj) -> None:
    # Upstream writes null where there is no request.
    devices.setdefault("requests", None)
    for request in devices["requests"] or ():
        alternatives = list(request.get("firstAvailable") or ())
        if request.get("exactly") is not None:
            alternatives.append(request["exactly"])
        for each in alternatives:
            if not each.get("allocationMode"):
                each["allocationMode"] = "ExactCount"
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1
            for toleration in each.get("tolerations") or ():
                if not toleration.get("operator"):
                    toleration["operator"] = "Equal"


def names_of(devices: Obj) -> Names:
    requests = devices.get("requests") or ()
    return {by_name(each): {by_name(sub) for sub in each.get("firstAvailable") or ()} for each in requests}


def validate(devices: Obj, at: str) -> Iterator[FieldError]:
    names = names_of(devices)

    def check_constraint(constraint: Obj, where: str) -> Iterator[FieldError]:
        return _validate_constraint(constraint, where, names)

    def check_config(config: Obj, where: str) -> Iterator[FieldError]:
        return validate_claim_config(config, where, names)

    yield from validate_each(devices.get("requests"), MOST_REQUESTS, _validate_request, child(at, "requests"), by_name)
    yield from validate_each(devices.get("constraints"), MOST_CONSTRAINTS, check_constraint, child(at, "constraints"))
    yield from validate_each(devices.get("config"), MOST_CONFIGS, check_config, child(at, "config"))


def _validate_request(request: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_label(by_name(request), child(at, "name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        yield required(at, ONE_OF_TWO)
    elif exactly is not None and alternatives:
        yield invalid(at, None, ONE_OF_TWO + ", but multiple fields are set")
    elif alternatives:
        where = child(at, "firstAvailable")
        yield from validate_each(alternatives, MOST_ALTERNATIVES, _validate_alternative, where, by_name)
    else:
        yield from _validate_exactly(exactly or {}, child(at, "exactly"))


def _validate_alternative(request: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_label(by_name(request), child(at, "name"))
    yield from _validate_exactly(request, at)


def _validate_exactly(request: Obj, at: str) -> Iterator[FieldError]:
    name, where = request.get("deviceClassName", ""), child(at, "deviceClassName")
    if not name:
        yield required(where)
    for problem in dns1123_subdomain(name) if name else ():
        yield invalid(where, name, problem)
    yield from validate_selectors(request.get("selectors"), child(at, "selectors"))
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            yield invalid(child(at, "count"), count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            yield invalid(child(at, "count"), count, "must be greater than zero")
    else:
        yield not_supported(child(at, "allocationMode"), mode, MODES)
    for position, toleration in enumerate(request.get("tolerations") or ()):
        yield from _validate_toleration(toleration, index(child(at, "tolerations"), position))


def validate_selectors(selectors: list[Obj] | None, at: str) -> Iterator[FieldError]:
    yield from validate_each(selectors, MOST_SELECTORS, _validate_selector, at)


def _validate_selector(selector: Obj, at: str) -> Iterator[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        yield required(child(at, "cel"))
    elif size(cel.get("expression", "")) > LONGEST_EXPRESSION:
        yield too_long(child(at, "cel", "expression"), LONGEST_EXPRESSION)


def _validate_toleration(toleration: Obj, at: str) -> Iterator[FieldError]:
    key, operator, value = (toleration.get(name, "") for name in ("key", "operator", "value"))
    if key:
        yield from label_name(key, child(at, "key"))
    match operator:
        case "Exists":
            if value:
                yield invalid(child(at, "value"), value, "must be empty for operator `Exists`")
        case "Equal":
            yield from validate_value(value, child(at, "value"))
        case "":
            yield required(child(at, "operator"))
        case _:
            yield not_supported(child(at, "operator"), operator, OPERATORS)
    effect = toleration.get("effect", "")
    if effect and effect not in EFFECTS:
        yield not_supported(child(at, "effect"), effect, EFFECTS)


def validate_value(value: str, at: str) -> Iterator[FieldError]:
    for problem in label_value(value):
        yield invalid(at, value, problem)


def _validate_constraint(constraint: Obj, at: str, names: Names) -> Iterator[FieldError]:
    yield from _validate_references(constraint.get("requests"), child(at, "requests"), names)
    for name in ("matchAttribute", "distinctAttribute"):
        if constraint.get(name) is not None:
            yield from validate_fully_qualified(constraint[name], child(at, name))
            return
    told = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    yield required(at, told)


def _validate_references(references: list[str] | None, at: str, names: Names) -> Iterator[FieldError]:
    def check(name: str, where: str) -> Iterator[FieldError]:
        return validate_reference(name, where, names)

    yield from validate_each(references, MOST_REQUESTS, check, at, str)


def validate_reference(name: str, at: str, names: Names) -> Iterator[FieldError]:
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(at, name, NO_SUCH_REQUEST)
        return
    for part in parts:
        yield from validate_label(part, at)
    found = parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
    if not found:
        yield invalid(at, name, NO_SUCH_REQUEST)


def validate_claim_config(config: Obj, at: str, names: Names) -> Iterator[FieldError]:
    yield from _validate_references(config.get("requests"), child(at, "requests"), names)
    yield from validate_config(config, at)


def validate_config(config: Obj, at: str) -> Iterator[FieldError]:
    opaque, where = config.get("opaque"), child(at, "opaque")
    if opaque is None:
        yield required(where)
        return
    yield from validate_driver(opaque.get("driver", ""), child(where, "driver"))
    yield from validate_raw(opaque.get("parameters"), child(where, "parameters"), LARGEST_PARAMETERS)


def validate_raw(value: Any, at: str, largest: int) -> Iterator[FieldError]:
    """Something the driver reads: any JSON object that is not too large."""
    if value is None:
        yield required(at)
    elif len(orjson.dumps(value)) > largest:
        yield too_long(at, largest)
    elif not isinstance(value, dict):
        yield invalid(at, "<value omitted>", "must be a valid JSON object")
