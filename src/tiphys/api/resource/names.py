"""Names of drivers, pools, devices and their attributes, and lists of things with names."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import FieldError, duplicate, index, invalid, required, too_long, too_many
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import c_identifier, dns1123_label, dns1123_subdomain, size

LONGEST_POOL_NAME = 253
LONGEST_IDENTIFIER = 32
LONGEST_KEY = 63 + 1 + LONGEST_IDENTIFIER

Check = Callable[[Any, str], Iterator[FieldError]]


def no_key(_: Any) -> None:
    """Things in this list may repeat."""


def validate_each(
    items: list[Any] | None, most: int, check: Check, at: str, key: Callable[[Any], Hashable] = no_key
) -> Iterator[FieldError]:
    """Too many are not looked at any further. `key`, if given, must be unique."""
    items = items or []
    if 0 <= most < len(items):
        yield too_many(at, len(items), most)
        return
    for position, item in enumerate(items):
        yield from check(item, index(at, position))
    if key is no_key:
        return
    seen = set()
    for position, item in enumerate(items):
        own = key(item)
        if own in seen:
            yield duplicate(index(at, position), own)
        seen.add(own)


def by_name(item: Obj) -> str:
    name: str = item.get("name", "")
    return name


def validate_map(items: Obj | None, most: int, longest: int, check_key: Check, check: Check, at: str) -> Iterator[FieldError]:
    items = items or {}
    if 0 <= most < len(items):
        yield too_many(at, len(items), most)
        return
    for key, item in items.items():
        yield from check_key(key, at)
        yield from check(item, f"{at}[{_shortened(key, longest)}]")


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    rest = longest - 3
    return text[: (rest + 1) // 2] + "..." + text[len(text) - rest // 2 :]


def validate_label(name: str, at: str) -> Iterator[FieldError]:
    for problem in dns1123_label(name):
        yield invalid(at, name, problem)


def validate_node_name(name: str, at: str) -> Iterator[FieldError]:
    for problem in dns1123_subdomain(name):
        yield invalid(at, name, problem)


def validate_pool(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    if size(name) > LONGEST_POOL_NAME:
        yield too_long(at, LONGEST_POOL_NAME)
    for part in name.split("/"):
        for problem in dns1123_subdomain(part):
            yield invalid(at, part, problem)


def validate_qualified(name: str, at: str) -> Iterator[FieldError]:
    """`memory`, or `example.com/memory`."""
    parts = name.split("/")
    if len(parts) == 1:
        yield from _validate_identifier(name, at)
    elif len(parts) == 2:
        domain, own = parts
        if not domain:
            yield invalid(at, "", "the domain must not be empty")
        else:
            yield from validate_driver(domain, at)
        if not own:
            yield invalid(at, "", "the name must not be empty")
        else:
            yield from _validate_identifier(own, at)


def validate_fully_qualified(name: str, at: str) -> Iterator[FieldError]:
    yield from validate_qualified(name, at)
    if "/" not in name:
        yield invalid(at, name, "a fully qualified name must be a domain and a name separated by a slash")


def _validate_identifier(name: str, at: str) -> Iterator[FieldError]:
    if size(name) > LONGEST_IDENTIFIER:
        yield too_long(at, LONGEST_IDENTIFIER)
    for problem in c_identifier(name):
        yield invalid(at, name, problem)
