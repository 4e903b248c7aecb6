"""YAML as sigs.k8s.io/yaml reads it: YAML 1.1's booleans, Go's integers, no dates, and lines of keys that are there twice.

Built from the events of libyaml, not by PyYAML's composer, which follows brackets as deep as they go until the stack is gone.
"""

import re
from typing import Any

import yaml
from yaml.cyaml import CParser

from tiphys.machinery.decode.problems import Refused
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import copy

_TAG = "tag:yaml.org,2002:"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_WORDS: dict[str, Any] = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False) | dict.fromkeys(_NULL)
_NOT_IN_JSON = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGERS = (
    (re.compile(r"[-+]?0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"[-+]?0[bB]([01]+)"), 2),
    (re.compile(r"[-+]?0[oO]?([0-7]+)"), 8),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)"), 10),
)
_EXPANSION_LIMIT = 10000
_UNSET: Any = object()


def read_yaml(body: bytes, depth_limit: int) -> tuple[Any, str]:
    """The first document, and upstream's complaint about keys that are there twice (empty if there are none)."""
    try:
        builder = _Builder(depth_limit)
        parser = CParser(body)
        while True:
            event = parser.get_event()
            if event is None or isinstance(event, (yaml.DocumentEndEvent, yaml.StreamEndEvent)):
                break
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise Refused(_told(error)) from None
    except yaml.reader.ReaderError as error:
        raise Refused(f"yaml: {error.reason}") from None
    except yaml.YAMLError as error:
        raise Refused(f"yaml: {str(error).splitlines()[0]}") from None
    if builder.problem:
        raise Refused(builder.problem)
    duplicates = "yaml: unmarshal errors:\n" + "\n".join(f"  {each}" for each in builder.duplicates)
    return builder.root, duplicates if builder.duplicates else ""


def _told(error: yaml.MarkedYAMLError) -> str:
    line = error.problem_mark.line if error.problem_mark else 0
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    elif not line and error.context_mark:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}"


class _Open:
    """A list or map that has not ended."""

    __slots__ = ("anchor", "key", "line", "merge", "size", "value")

    def __init__(self, value: Any, anchor: str | None, line: int) -> None:
        self.value = value
        self.anchor = anchor
        self.line = line
        self.key: Any = _UNSET
        self.merge = False
        self.size = 1


class _Builder:
    def __init__(self, depth_limit: int) -> None:
        self.root: Any = None
        self.duplicates: list[str] = []
        self.problem = ""
        """What YAML allows and JSON does not. Told only of texts that are YAML to their end."""
        self._depth_limit = depth_limit
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._events = 0
        self._expanded = 0

    def take(self, event: Any) -> None:
        self._events += 1
        line = event.start_mark.line
        if isinstance(event, yaml.ScalarEvent):
            self._add(_scalar(event), 1, event.anchor, line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self._stack) >= self._depth_limit:
                raise Refused("yaml: exceeded max depth")
            is_map = isinstance(event, yaml.MappingStartEvent)
            self._stack.append(_Open({} if is_map else [], event.anchor, line))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._stack.pop()
            self._add(done.value, done.size, done.anchor, done.line)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            inside = any(each.anchor == anchor for each in self._stack)
            problem = f"anchor '{anchor}' value contains itself" if inside else f"unknown anchor '{anchor}' referenced"
            raise Refused(f"yaml: {problem}")
        value, size = self._anchors[anchor]
        self._expanded += size
        if self._expanded > _EXPANSION_LIMIT + 10 * self._events:
            raise Refused("yaml: document contains excessive aliasing")
        self._add(copy(value), size, None, line)

    def _add(self, value: Any, size: int, anchor: str | None, line: int) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._stack:
            self.root = _unless_merge(value)
            return
        parent = self._stack[-1]
        parent.size += size
        if isinstance(parent.value, list):
            parent.value.append(_unless_merge(value))
        elif parent.key is _UNSET and not parent.merge:
            parent.merge = value is _MERGE
            parent.key = _UNSET if parent.merge else value
        elif parent.merge:
            parent.merge = False
            self._merge(parent.value, value)
        else:
            self._set(parent, value, line)

    def _set(self, parent: _Open, value: Any, line: int) -> None:
        key = self._key(parent.key)
        if key in parent.value:
            shown = quote(parent.key) if isinstance(parent.key, str) else key
            self.duplicates.append(f"line {line + 1}: key {shown} already set in map")
        parent.value[key] = _unless_merge(value)
        parent.key = _UNSET

    def _merge(self, into: dict[str, Any], value: Any) -> None:
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, dict):
                self.problem = self.problem or "yaml: map merge requires map or sequence of maps as the value"
                return
            for key, item in each.items():
                into.setdefault(key, item)

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, (int, float)):
            return str(key)
        problem = "unsupported map key of type: %!s(<nil>), key: <nil>" if key is None else "yaml: invalid map key"
        self.problem = self.problem or problem
        return ""


_MERGE: Any = object()


def _unless_merge(value: Any) -> Any:
    """`<<` means something as a key only."""
    return "<<" if value is _MERGE else value


_TAGS = {int: "int", float: "float", bool: "bool", type(None): "null"}


def _scalar(event: Any) -> Any:
    tag: str | None = event.tag
    text: str = event.value
    if tag is None or tag == "!":
        # Quoted text, and block text, is text.
        return _resolve(text) if event.implicit[0] and tag is None else text
    kind = tag.removeprefix(_TAG)
    if kind not in ("int", "float", "bool", "null"):
        return text
    value = _resolve(text)
    if _TAGS.get(type(value)) != kind and (kind, type(value)) != ("float", int):
        raise Refused(f"yaml: cannot decode !!str `{text}` as a !!{kind}")
    return value


def _resolve(text: str) -> Any:
    """A plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text == "<<":
        return _MERGE
    if text in _NOT_IN_JSON:
        raise Refused(f"json: unsupported value: {_NOT_IN_JSON[text]}")
    first = text[0]
    if not (first in "+-." or "0" <= first <= "9"):
        return text
    plain = text if first == "." else text.replace("_", "")
    if len(plain) > 400:
        return text
    for pattern, base in _INTEGERS:
        found = pattern.fullmatch(plain)
        if found:
            number = int(found[1], base)
            number = -number if plain[0] == "-" else number
            return number if -(2**63) <= number < 2**64 else float(number)
    return _float(plain) if _FLOAT.fullmatch(plain) else text


def _float(plain: str) -> Any:
    number = float(plain)
    if number in (float("inf"), float("-inf")):
        return plain
    # In JSON, which upstream goes through, 1.0 is 1.
    return int(number) if number.is_integer() and abs(number) < 2**63 else number
