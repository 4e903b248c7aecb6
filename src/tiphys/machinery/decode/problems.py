"""How upstream words the refusal of a body."""

from collections.abc import Iterable, Mapping
from typing import Any

from tiphys.machinery.errors import ApiError, bad_request
from tiphys.machinery.fields import quote

_TOLD_AT_MOST = 100


class Refused(Exception):
    """Inside the decoder: what is wrong, before it is said of which kind."""


def cannot_handle(kind: str, api_version: str, wanted: str, problem: str) -> ApiError:
    """A body that names its kind (or takes it from the URL) and cannot be read as `wanted`."""
    version = api_version.rpartition("/")[2]
    return bad_request(f"{kind} in version {quote(version)} cannot be handled as a {wanted}: {problem}")


def unrecognized(wanted: str, problem: str, body: bytes) -> ApiError:
    """A body of which not even the kind can be read."""
    start = body[:30]
    shown = start.decode(errors="replace") if start[:1] == b"{" else start.hex()
    shown = shown + " ..." if len(body) > 30 else shown or "<empty>"
    return bad_request(f"the object provided is unrecognized (must be of type {wanted}): {problem} ({shown})")


def mismatch(value: Any, go_type: str, owner: str, path: str) -> Refused:
    """A JSON value where Go has another type."""
    told = f"json: cannot unmarshal {_json_kind(value, go_type)} into Go"
    return Refused(f"{told} struct field {owner}.{path} of type {go_type}" if path else f"{told} value of type {go_type}")


def _json_kind(value: Any, go_type: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return f"number {value}" if go_type in ("int32", "int64") else "number"
    return "array" if isinstance(value, list) else "object"


_YAML_HEADLINE = "yaml: unmarshal errors:\n"


def strict_problem(unknown: list[str], duplicates: list[str], order: Mapping[str, int] | None = None) -> str:
    """What a request with fieldValidation=Strict is refused for; `order` is that of `Parsed`."""
    return "strict decoding error: " + ", ".join(complaints(unknown, duplicates, order))


def strict_warnings(unknown: list[str], duplicates: list[str], order: Mapping[str, int] | None = None) -> list[str]:
    """The same as warnings, one each, for fieldValidation=Warn."""
    return as_warnings(complaints(unknown, duplicates, order))


def complaints(unknown: list[str], duplicates: list[str], order: Mapping[str, int] | None = None) -> list[str]:
    from_yaml = [each for each in duplicates if each.startswith("yaml: ")]
    found = [("unknown", each) for each in unknown]
    found += [("duplicate", each) for each in duplicates if not each.startswith("yaml: ")]
    if order:
        found.sort(key=lambda each: order.get(each[1], len(order)))
    told = dict.fromkeys(f"{kind} field {quote(each)}" for kind, each in found)
    return from_yaml + list(told)[:_TOLD_AT_MOST]


def as_warnings(told: Iterable[str]) -> list[str]:
    """What a reader of YAML complains of is told line by line, without its headline."""
    lines: list[str] = []
    for each in told:
        headed = each.startswith(_YAML_HEADLINE)
        lines.extend(filter(None, map(str.strip, each.removeprefix(_YAML_HEADLINE).split("\n"))) if headed else [each])
    return lines
