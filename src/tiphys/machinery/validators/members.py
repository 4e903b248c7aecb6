"""Checks of a field: each yields FieldErrors, none if it is good."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, not_supported, required, too_long
from tiphys.machinery.validators.values import (
    dns1123_label,
    dns1123_subdomain,
    label_value,
    qualified_name,
    regex_error,
    size,
)

AT_LEAST_ZERO = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"

ANNOTATIONS_MAX = 256 * 1024

_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_HTTP_PATH_RE = re.compile(_HTTP_PATH)
_CONDITION_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_CONDITION_REASON_RE = re.compile(_CONDITION_REASON)


def at_least_zero(value: int | None, at: str) -> Iterator[FieldError]:
    if value is not None and value < 0:
        yield invalid(at, value, AT_LEAST_ZERO)


def immutable(new: Any, old: Any, at: str) -> Iterator[FieldError]:
    if new != old:
        yield invalid(at, new, IMMUTABLE)


@lru_cache(8192)
def _key_problems(value: str) -> tuple[str, ...]:
    return tuple(qualified_name(value))


@lru_cache(8192)
def _value_problems(value: str) -> tuple[str, ...]:
    return tuple(label_value(value))


def labels(values: Mapping[str, str] | None, at: str) -> Iterator[FieldError]:
    for name, value in (values or {}).items():
        for problem in _key_problems(name):
            yield invalid(at, name, problem)
        for problem in _value_problems(value):
            yield invalid(at, value, problem)


def label_name(value: str, at: str) -> Iterator[FieldError]:
    for problem in qualified_name(value):
        yield invalid(at, value, problem)


def annotations(values: Mapping[str, str] | None, at: str) -> Iterator[FieldError]:
    total = 0
    for name, value in (values or {}).items():
        total += size(name) + size(value)
        for problem in _key_problems(name.lower()):
            yield invalid(at, name, problem)
    if total > ANNOTATIONS_MAX:
        yield too_long(at, ANNOTATIONS_MAX)


def fully_qualified_name(value: str, at: str) -> Iterator[FieldError]:
    """`signers.example.com`."""
    if not value:
        yield required(at)
    elif problems := dns1123_subdomain(value):
        yield invalid(at, value, ",".join(problems))
    elif value.count(".") < 2:
        yield invalid(at, value, "should be a domain with at least three segments separated by dots")


def fully_qualified_domain_name(value: str, at: str) -> Iterator[FieldError]:
    """`example.com`, with or without a dot at its end."""
    if not value:
        yield required(at)
        return
    name = value.removesuffix(".")
    if problems := dns1123_subdomain(name):
        yield invalid(at, name, ",".join(problems))
    elif "." not in name:
        yield invalid(at, name, "should be a domain with at least two segments separated by dots")
    else:
        for part in name.split("."):
            if problems := dns1123_label(part):
                yield invalid(at, part, ",".join(problems))
                return


def domain_prefixed_path(value: str, at: str) -> Iterator[FieldError]:
    """`example.com/some/path`."""
    if not value:
        yield required(at)
        return
    host, _, path = value.partition("/")
    if not host or not path:
        yield invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    for problem in dns1123_subdomain(host):
        yield invalid(at, host, problem)
    if not _HTTP_PATH_RE.fullmatch(path):
        yield invalid(at, path, regex_error("Invalid path", _HTTP_PATH))


def domain_prefixed_key(value: str, at: str) -> Iterator[FieldError]:
    """`example.com/key`."""
    if not value:
        yield required(at)
    elif problems := qualified_name(value):
        for problem in problems:
            yield invalid(at, value, problem)
    elif "/" not in value:
        yield invalid(at, value, 'must be a domain-prefixed key (such as "acme.io/foo")')


def field_manager(value: str, at: str) -> Iterator[FieldError]:
    if size(value) > 128:
        yield too_long(at, 128)
    position = 0
    for character in value:
        if not character.isprintable():
            yield invalid(at, value, f"invalid character U+{ord(character):04X} (at position {position})")
        position += size(character)


def conditions(values: list[dict[str, Any]], at: str) -> Iterator[FieldError]:
    """metav1.Condition, as newer kinds have in their status."""
    seen = set()
    for position, each in enumerate(values):
        here = index(at, position)
        if each.get("type", "") in seen:
            yield duplicate(child(here, "type"), each.get("type", ""))
        seen.add(each.get("type", ""))
        yield from condition(each, here)


def condition(tree: dict[str, Any], at: str) -> Iterator[FieldError]:
    yield from label_name(tree.get("type", ""), child(at, "type"))
    if tree.get("status", "") not in ("True", "False", "Unknown"):
        yield not_supported(child(at, "status"), tree.get("status", ""), ("False", "True", "Unknown"))
    if tree.get("observedGeneration", 0) < 0:
        yield invalid(child(at, "observedGeneration"), tree["observedGeneration"], "must be greater than or equal to zero")
    if not tree.get("lastTransitionTime"):
        yield required(child(at, "lastTransitionTime"))
    reason = tree.get("reason", "")
    if not reason:
        yield required(child(at, "reason"))
    else:
        if not _CONDITION_REASON_RE.fullmatch(reason):
            told = (
                "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
                "characters or '_,:', and must end with an alphanumeric character or '_'"
            )
            examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
            yield invalid(child(at, "reason"), reason, regex_error(told, _CONDITION_REASON, *examples))
        if size(reason) > 1024:
            yield too_long(child(at, "reason"), 1024)
    if size(tree.get("message", "")) > 32 * 1024:
        yield too_long(child(at, "message"), 32 * 1024)


def no_new_finalizers(new: list[str], old: list[str], at: str) -> Iterator[FieldError]:
    extra = sorted(set(new) - set(old))
    if extra:
        told = ", ".join(f'"{each}"' for each in extra)
        problem = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{told}}}"
        yield forbidden(at, problem)
