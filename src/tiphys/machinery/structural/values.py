"""Whether the values of a custom resource are what its schema says, in upstream's words.

The order in which a value meets the parts of a schema, and what counts as a match where several alternatives fail, decide
which problems are told; both follow upstream (kube-openapi/pkg/validation/validate).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tiphys.machinery import go_regexp
from tiphys.machinery.fields import (
    FieldError,
    invalid,
    not_supported,
    quote,
    required,
    show,
    too_long,
    too_many,
    type_invalid,
)
from tiphys.machinery.patch.go import go_float
from tiphys.machinery.structural.formats import FORMATS, is_known

Schema = Mapping[str, Any]
ABSENT: Any = object()
"""There is no older value to compare with."""

_NOWHERE = "<nil>"
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_GO_FORMATS = {int: "int64", float: "float64"}
_INT32, _INT64, _FLOAT32 = 2**31, 2**63, 3.4028234663852886e38
_EXACT = 2**53 - 1
"""Up to here a float may stand for an integer."""


@dataclass(slots=True)
class _Found:
    """What has been found, and how many checks held."""

    problems: list[FieldError] = field(default_factory=list)
    matches: int = 0

    def merge(self, other: "_Found") -> None:
        self.problems.extend(other.problems)
        self.matches += other.matches


@dataclass(frozen=True, slots=True)
class _Validator:
    prefix: str
    """What stands before every place: the path of the part that is validated."""

    def at(self, place: str) -> str:
        place = place.removeprefix(".")
        if not place:
            return self.prefix or _NOWHERE
        return f"{self.prefix}.{place}" if self.prefix else place

    def told(self, place: str, words: str) -> str:
        return f"{place} in body {words}"

    def plain(self, message: str) -> FieldError:
        """A problem of no one place."""
        return invalid(self.prefix or _NOWHERE, "", message)

    def wrong_type(self, place: str, wanted: str, found: str) -> FieldError:
        return type_invalid(self.at(place), found, self.told(place, f"must be of type {wanted}: {quote(found)}"))


def validate_values(value: Any, schema: Schema, at: str = "", old: Any = ABSENT) -> list[FieldError]:
    """`old`: what is stored now. What it has in common with the new value is not complained about again."""
    return _ratcheted(_Validator(at), value, schema, "", old).problems


def _ratcheted(validator: _Validator, value: Any, schema: Schema, place: str, old: Any) -> _Found:
    found = _check(validator, value, schema, place, old)
    if found.problems and old is not ABSENT and old == value:
        return _Found([], found.matches)
    return found


def _check(validator: _Validator, value: Any, schema: Schema, place: str, old: Any) -> _Found:
    found = _Found()
    kinds = _types(schema)
    if type(value) is int and not -_INT64 <= value < _INT64:
        # Beyond its integers, Go reads floats.
        value = float(value)
    form = schema.get("format", "")
    if form and not is_known(form, kinds[0] if len(kinds) == 1 else ""):
        form = ""
    if value is None:
        if kinds and not schema.get("nullable"):
            found.problems.append(validator.wrong_type(place, ",".join(kinds), "null"))
        _check_enum(validator, value, schema, place, found)
        return found
    if kinds or form:
        _check_type(validator, value, kinds, form, place, found)
        found.matches += 1
    found.merge(_alternatives(validator, value, schema, place, old))
    found.matches += 1
    if isinstance(value, str):
        _check_text(validator, value, schema, form, place, found)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(validator, value, schema, kinds, form, place, found)
    elif isinstance(value, list):
        _check_list(validator, value, schema, place, old, found)
    _check_enum(validator, value, schema, place, found)
    found.matches += 1
    if isinstance(value, dict):
        _check_object(validator, value, schema, place, old, found)
    return found


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _check_type(validator: _Validator, value: Any, kinds: tuple[str, ...], form: str, place: str, found: _Found) -> None:
    actual, native = _JSON_TYPES[type(value)], _GO_FORMATS.get(type(value), "")
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT and "integer" in kinds
    fits = actual in kinds or whole or (actual == "integer" and "number" in kinds)
    textual = isinstance(value, (str, list))
    if not textual and form and not fits and native != form:
        found.problems.append(validator.wrong_type(place, form, native))
    elif form and textual and not {"integer", "number"} & set(kinds):
        # What has a format may be any text; the format decides.
        found.matches += 1
    elif not fits:
        found.problems.append(validator.wrong_type(place, ",".join(kinds), actual))
    else:
        found.matches += 1


def _alternatives(validator: _Validator, value: Any, schema: Schema, place: str, old: Any) -> _Found:
    """anyOf, oneOf, allOf, not."""
    found = _Found()

    def tried(name: str) -> list[_Found]:
        return [_check(validator, value, each, place, old) for each in schema.get(name) or ()]

    def complain(words: str) -> None:
        found.problems.append(validator.plain(f"{quote(place)} {words}"))

    any_of, one_of, all_of = tried("anyOf"), tried("oneOf"), tried("allOf")
    if any_of:
        good = next((each for each in any_of if not each.problems), None)
        if good is None:
            complain("must validate at least one schema (anyOf)")
        found.merge(good or _best(any_of))
    if one_of:
        good_ones = [each for each in one_of if not each.problems]
        if len(good_ones) == 1:
            found.merge(good_ones[0])
        elif good_ones:
            complain(f"must validate one and only one schema (oneOf). Found {len(good_ones)} valid alternatives")
        else:
            complain("must validate one and only one schema (oneOf). Found none valid")
            found.merge(_best(one_of))
    for each in all_of:
        found.merge(each)
    if any(each.problems for each in all_of):
        none = ". None validated" if all(each.problems for each in all_of) else ""
        complain(f"must validate all the schemas (allOf){none}")
    excluded = schema.get("not")
    if isinstance(excluded, dict) and not _check(validator, value, excluded, place, old).problems:
        complain("must not validate the schema (not)")
    found.matches += 1
    return found


def _best(failed: list[_Found]) -> _Found:
    """The first of those that came furthest."""
    return max(failed, key=lambda each: each.matches)


def _check_text(validator: _Validator, value: str, schema: Schema, form: str, place: str, found: _Found) -> None:
    at, longest, shortest = validator.at(place), schema.get("maxLength"), schema.get("minLength")
    pattern = schema.get("pattern")
    if longest is not None and len(value) > longest:
        found.problems.append(too_long(at, longest))
    elif shortest is not None and len(value) < shortest:
        told = validator.told(place, f"should be at least {shortest} chars long")
        found.problems.append(invalid(at, value, told))
    elif pattern and not go_regexp.matches(pattern, value):
        found.problems.append(invalid(at, value, validator.told(place, f"should match '{pattern}'")))
    check: Callable[[str], bool] | None = FORMATS.get(form.replace("-", "")) if form else None
    if check is not None and not check(value):
        found.problems.append(type_invalid(at, value, validator.told(place, f"must be of type {form}: {quote(value)}")))


def _check_number(
    validator: _Validator, value: float, schema: Schema, kinds: tuple[str, ...], form: str, place: str, found: _Found
) -> None:
    at = validator.at(place)

    def limit(name: str, called: str) -> float | None:
        """A bound as upstream compares with it: as an integer with integers, which may cut it off."""
        bound: float | None = schema.get(name)
        if bound is None:
            return None
        if _fits(bound, kinds, form):
            return int(bound) if isinstance(value, int) else float(bound)
        found.problems.append(_out_of_range(validator, called, kinds, form, place))
        return float(bound)

    if not _fits(value, kinds, form):
        found.problems.append(_out_of_range(validator, "Checked", kinds, form, place))
    factor = limit("multipleOf", "MultipleOf")
    if factor is not None and factor <= 0:
        told = f"factor MultipleOf declared for {place} must be positive: {_number(factor)}"
        found.problems.append(invalid(at, factor, told))
    elif factor is not None and not _is_multiple(value, factor):
        found.problems.append(invalid(at, value, validator.told(place, f"should be a multiple of {_number(factor)}")))
    least = limit("minimum", "Minimum boundary")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        found.problems.append(invalid(at, value, validator.told(place, f"should be {words} {_number(least)}")))
    most = limit("maximum", "Maximum boundary")
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        found.problems.append(invalid(at, value, validator.told(place, f"should be {words} {_number(most)}")))
    found.matches += 1


def _fits(value: float, kinds: tuple[str, ...], form: str) -> bool:
    """Whether a number can be one of the type that the schema has for it."""
    if len(kinds) != 1 or kinds[0] not in ("integer", "number"):
        return True
    if kinds[0] == "integer":
        limit = _INT32 if form == "int32" else _INT64
        return (isinstance(value, int) or value.is_integer()) and -limit <= value < limit
    return form != "float" or abs(value) <= _FLOAT32


def _out_of_range(validator: _Validator, what: str, kinds: tuple[str, ...], form: str, place: str) -> FieldError:
    with_format = f"with format {form}" if form else "(default format)"
    return validator.plain(f"{what} value must be of type {kinds[0]} {with_format} in {place}")


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % factor == 0
    return (value / factor).is_integer()


def _number(value: float) -> str:
    return go_float(float(value))


def _check_list(validator: _Validator, value: list[Any], schema: Schema, place: str, old: Any, found: _Found) -> None:
    items, least, most = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
    if isinstance(items, dict):
        for position, each in enumerate(value):
            where = f"{place}[{position}]"
            found.merge(_ratcheted(validator, each, items, where, _same_element(each, schema, old)))
    if least is not None and len(value) < least:
        told = validator.told(place, f"should have at least {least} items")
        found.problems.append(invalid(validator.at(place), len(value), told))
    if most is not None and len(value) > most:
        found.problems.append(too_many(validator.at(place), len(value), most))
    found.matches += 1


def _same_element(item: Any, schema: Schema, old: Any) -> Any:
    """Elements of a list that is a map are known by their keys; others by nothing."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not isinstance(old, list) or not isinstance(item, dict):
        return ABSENT
    for each in old:
        if isinstance(each, dict) and all(each.get(name) == item.get(name) for name in keys):
            return each
    return ABSENT


def _check_enum(validator: _Validator, value: Any, schema: Schema, place: str, found: _Found) -> None:
    accepted = schema.get("enum")
    if not accepted or any(_same(each, value) for each in accepted):
        return
    listed = [each if isinstance(each, str) else show(each) for each in accepted]
    found.problems.append(not_supported(validator.at(place), "" if value is None else value, listed))


def _same(accepted: Any, value: Any) -> bool:
    """Numbers are compared as that which is accepted, an integer or not."""
    if type(accepted) is int and type(value) is float:
        return int(value) == accepted
    if type(accepted) is float and type(value) is int:
        return float(value) == accepted
    return type(accepted) is type(value) and bool(accepted == value)


def _check_object(validator: _Validator, value: dict[str, Any], schema: Schema, place: str, old: Any, found: _Found) -> None:
    at, least, most = validator.at(place), schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        found.problems.append(invalid(at, len(value), validator.told(place, f"should have at least {least} properties")))
    if most is not None and len(value) > most:
        found.problems.append(too_many(at, len(value), most))
    before: Mapping[str, Any] = old if isinstance(old, dict) else {}
    properties, values = schema.get("properties") or {}, schema.get("additionalProperties")
    if isinstance(values, dict):
        for name, each in value.items():
            if name not in properties:
                found.merge(_ratcheted(validator, each, values, f"{place}.{name}", before.get(name, ABSENT)))
    for name, each in properties.items():
        if name not in value:
            continue
        where = f"{place}.{name}" if place else name
        # What the server itself writes into an object is never old.
        known = ABSENT if not place and not validator.prefix and name in ("apiVersion", "kind") else before.get(name, ABSENT)
        found.merge(_ratcheted(validator, value[name], each, where, known))
    for name in schema.get("required") or ():
        if name not in value:
            found.problems.append(required(validator.at(f"{place}.{name}")))
