"""From the bytes of a request to a tree of plain values: JSON, YAML, protobuf. Nothing here knows the schema of a kind."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from tiphys.machinery import protobuf
from tiphys.machinery.decode.json_syntax import syntax_problem
from tiphys.machinery.decode.problems import Refused, cannot_handle, mismatch, unrecognized
from tiphys.machinery.decode.yaml_tree import read_yaml
from tiphys.machinery.errors import ApiError, bad_request

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

DEPTH_LIMIT = 300
"""Deeper trees would exhaust the stack of whoever walks them; no kind comes near it."""


@dataclass(frozen=True, slots=True)
class Parsed:
    tree: Any
    duplicates: tuple[str, ...] = ()
    """Paths of fields that JSON gives twice; of YAML one text about all such keys, which starts with `yaml: `."""
    yaml: bool = False
    order: Mapping[str, int] = field(default_factory=dict)
    """Where there are duplicates in JSON: how far into the body each path is, so that complaints can follow it."""


def parse(body: bytes, media_type: str, *, find_duplicates: bool, wanted: str = "") -> Parsed:
    """The tree of a body. ApiError if it is not readable, which names `wanted`, the kind of the URL.

    An empty document (JSON's null) is an empty object. Media types that are not known count as JSON.
    """
    try:
        if media_type == PROTOBUF:
            return Parsed(_parse_protobuf(body, wanted))
        if media_type == YAML:
            parsed = _parse_yaml(body, find_duplicates)
            if wanted:
                _check_type_meta(parsed.tree)
            return parsed
        tree = _parse_json(body)
        if wanted:
            _check_type_meta(tree)
        duplicates, order = _duplicates(body, tree) if find_duplicates else ((), {})
        return Parsed(tree, duplicates, order=order)
    except Refused as problem:
        raise _refusal(str(problem), wanted, body) from None
    except ApiError:
        raise
    except RecursionError:
        raise _refusal("exceeded max depth", wanted, body) from None


def _parse_protobuf(body: bytes, wanted: str) -> Any:
    try:
        tree = protobuf.read(body)
    except protobuf.Broken as problem:
        if problem.kind:
            raise cannot_handle(problem.kind, problem.api_version, wanted or problem.kind, str(problem)) from None
        raise Refused(str(problem)) from None
    _check_depth(body, tree)
    return tree


_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


def _check_type_meta(tree: Any) -> None:
    """What upstream asks of any object before it looks at the rest: that its apiVersion and kind can be read."""
    told = "couldn't get version/kind; json parse error: "
    if not isinstance(tree, dict):
        raise Refused(told + str(mismatch(tree, _TYPE_META, "", "")))
    for name in ("apiVersion", "kind"):
        value = tree.get(name)
        if value is not None and not isinstance(value, str):
            # The struct that upstream reads them into has no name.
            raise Refused(told + str(mismatch(value, "string", "", name)))


def _refusal(problem: str, wanted: str, body: bytes) -> ApiError:
    return unrecognized(wanted, problem, body) if wanted else bad_request(problem)


def _parse_json(body: bytes) -> Any:
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        # Go reads broken UTF-8 and lone surrogates as U+FFFD; orjson refuses them. Everything else is a mistake for it, too.
        problem = syntax_problem(body)
        if problem:
            raise Refused(f"couldn't get version/kind; json parse error: {problem}") from None
        tree = _lenient(body)
    if tree is None:
        return {}
    _check_depth(body, tree)
    return tree


def _check_depth(body: bytes, tree: Any) -> None:
    if body.count(b"{") + body.count(b"[") > DEPTH_LIMIT and _deeper(tree, DEPTH_LIMIT):
        raise Refused("exceeded max depth")


def _lenient(body: bytes) -> Any:
    try:
        text = json.dumps(json.loads(body.decode(errors="replace")), ensure_ascii=False)
    except ValueError as error:
        raise Refused(f"couldn't get version/kind; json parse error: {error}") from None
    return orjson.loads(text.encode(errors="replace"))


def _deeper(tree: Any, limit: int) -> bool:
    if limit == 0:
        return True
    children = tree.values() if isinstance(tree, dict) else tree
    return any(isinstance(each, (dict, list)) and _deeper(each, limit - 1) for each in children)


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, keys that are there twice included."""


def _duplicates(body: bytes, tree: Any) -> tuple[tuple[str, ...], dict[str, int]]:
    # What comes back unchanged cannot have lost anything: most clients write as compactly as we do.
    if orjson.dumps(tree) == body.rstrip():
        return (), {}
    found = False

    def notice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        result = dict(pairs)
        if len(result) != len(pairs):
            found = True
        return result

    text = body.decode(errors="replace")
    json.loads(text, object_pairs_hook=notice)
    if not found:
        return (), {}
    order: dict[str, int] = {}
    paths: dict[str, None] = {}
    _collect(json.loads(text, object_pairs_hook=_Pairs), "", paths, order, count())
    return tuple(paths), order


def _collect(value: Any, at: str, paths: dict[str, None], order: dict[str, int], places: Iterator[int]) -> None:
    if isinstance(value, _Pairs):
        seen = set()
        for key, item in value:
            here = f"{at}.{key}" if at else key
            if key in seen and here not in paths:
                # A duplicate is noticed when the field comes for the second time.
                paths[here] = None
                del order[here]
            order.setdefault(here, next(places))
            seen.add(key)
            _collect(item, here, paths, order, places)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _collect(item, f"{at}[{position}]", paths, order, places)


def _parse_yaml(body: bytes, find_duplicates: bool) -> Parsed:
    if body.lstrip()[:1] == b"{":
        # kubectl apply sends JSON under this name; reading it as YAML would take fifty times as long.
        try:
            tree = _parse_json(body)
            if not find_duplicates or not _duplicates(body, tree)[0]:
                return Parsed(tree, yaml=True)
        except Refused:
            tree = None
    tree, duplicates = read_yaml(body, DEPTH_LIMIT)
    return Parsed({} if tree is None else tree, (duplicates,) if duplicates and find_duplicates else (), yaml=True)
