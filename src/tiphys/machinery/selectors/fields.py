"""Field selectors: which fields there are, and how each is read, is the caller's knowledge."""

import re
from collections.abc import Callable
from functools import lru_cache


class FieldSelector:
    """Conditions on fields; what a field is called, and how it is read, is the caller's knowledge."""

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[tuple[str, bool, str], ...] = ()) -> None:
        self.terms = terms
        """(field, whether it must be equal, value)."""

    @property
    def empty(self) -> bool:
        return not self.terms

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(field for field, _, _ in self.terms)

    def matches(self, get: Callable[[str], str]) -> bool:
        return all((get(field) == value) == equal for field, equal, value in self.terms)

    def exact(self, field: str) -> str | None:
        """The value that the field must have, where one is asked for."""
        for name, equal, value in self.terms:
            if name == field and equal:
                return value
        return None

    def without(self, field: str) -> "FieldSelector":
        """For a caller that has seen to that field already."""
        return FieldSelector(tuple(term for term in self.terms if term[0] != field))

    def __str__(self) -> str:
        return ",".join(f"{field}{'=' if equal else '!='}{escape(value)}" for field, equal, value in self.terms)

    def __repr__(self) -> str:
        return f"FieldSelector({self})"


ANY_FIELD = FieldSelector()

_FIELD_OPERATOR = re.compile(r"!=|==|=")


@lru_cache(1024)
def parse_fields(text: str) -> FieldSelector:
    """The fieldSelector of a request: `spec.nodeName=a,status.phase!=Failed`. ValueError in upstream's words."""
    terms = []
    for part in sorted(_split(text)):
        found = _FIELD_OPERATOR.search(part)
        if found is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = part[: found.start()], _unescape(part[found.end() :])
        if field or value:
            terms.append((field, found[0] != "!=", value))
    return FieldSelector(tuple(terms))


def escape(value: str) -> str:
    """A value as it stands in the text of a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _split(text: str) -> list[str]:
    """At the commas that no backslash precedes."""
    return [part for part in re.findall(r"(?:\\.|\\$|[^\\,])+", text, re.DOTALL) if part]


def _unescape(text: str) -> str:
    if not any(each in text for each in "\\,="):
        return text
    told = []
    characters = iter(text)
    for each in characters:
        if each == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            told.append(escaped)
        elif each in ",=":
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(each)}")
        else:
            told.append(each)
    return "".join(told)
