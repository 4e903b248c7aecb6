"""Lists of a strategic merge patch: which element is which, and in what order they end up."""

from typing import Any

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch.go import go_text, go_type
from tiphys.machinery.patch.json import refused
from tiphys.machinery.tree import Obj

PATCH = "$patch"
ORDER = "$setElementOrder"


def failed(message: str) -> ApiError:
    """An error that upstream does not attribute to anybody: it reaches the client as a bare 500."""
    return ApiError(500, "", message)


def wrong_type(expected: str, value: Any) -> ApiError:
    return failed(f"expected a {expected}, but received a {go_type(value)}")


def no_merge_key(item: Obj, merge_key: str) -> ApiError:
    return failed(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")


def unknown_directive(directive: Any, patch: Obj) -> ApiError:
    return failed(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def as_left_behind(live: list[Any], change: list[Any], merge_key: str) -> list[Any]:
    """The live list as upstream looks at it when it puts a merged list in order.

    Upstream deletes and appends in the memory of the list that it was given: deletions close up, what is added takes the places
    that became free at the end, and the old length stays. The order of the result depends on it.
    """
    if not any(each.get(PATCH) == "delete" for each in change):
        return live
    kept = list(live)
    length = len(kept)
    for each in change:
        if each.get(PATCH) != "delete":
            continue
        identity = element_identity(each, merge_key)
        at = 0
        while at < length:
            if merge_key in kept[at] and identity_of(kept[at][merge_key]) == identity:
                kept[at : length - 1] = kept[at + 1 : length]
                length -= 1
            else:
                at += 1
    if any(each.get(PATCH) == "replace" for each in change):
        return kept
    known = {identity_of(each[merge_key]) for each in kept[:length] if merge_key in each}
    for each in change:
        if length == len(kept):
            break
        if PATCH not in each and identity_of(each[merge_key]) not in known:
            kept[length] = each
            known.add(identity_of(each[merge_key]))
            length += 1
    return kept


def check_order(change: list[Any], order: list[Any], merge_key: str) -> None:
    """The elements of the patch must all be in the order directive, in the same relative order."""
    if not order or not change:
        return
    if merge_key:
        for each in change:
            if not isinstance(each, dict):
                raise wrong_type("map[string]interface {}", each)
        kept = [each for each in change if each.get(PATCH) != "delete"]
    else:
        kept = change
    at = index = 0
    while index < len(kept) and at < len(order):
        each = kept[index]
        if isinstance(each, dict) and PATCH in each:
            index += 1
            continue
        if element_identity(each, merge_key) == element_identity(order[at], merge_key):
            index += 1
        at += 1
    if index < len(kept):
        told = f"The order in patch list:\n{go_text(change)}\n doesn't match {ORDER} list:\n{go_text(order)}\n"
        raise failed(told)


def element_identity(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return identity_of(item)
    if not isinstance(item, dict):
        raise wrong_type("map[string]interface {}", item)
    if merge_key not in item:
        raise no_merge_key(item, merge_key)
    return identity_of(item[merge_key])


def in_order(items: list[Any], order: list[Any], live: list[Any], merge_key: str, keyed: bool) -> list[Any]:
    """Elements named by `order` in that order, the others as they were live, interleaved as the live list had them."""
    key = merge_key if keyed else ""
    wanted, lived = _ranks(order, key), _ranks(live, key)
    ours: list[tuple[int, Any, Any]] = []
    others: list[tuple[int, Any, Any]] = []
    for each in items:
        identity = element_identity(each, key)
        rank = wanted.get(identity)
        if rank is not None:
            ours.append((rank, identity, each))
        else:
            others.append((lived.get(identity, -1), identity, each))
    ours.sort(key=_rank)
    others = _sorted_as_live(others)
    result: list[Any] = []
    at = 0
    for _, identity, each in ours:
        rank = lived.get(identity)
        if rank is not None:
            while at < len(others) and 0 <= others[at][0] < rank:
                result.append(others[at][2])
                at += 1
        result.append(each)
    result.extend(each for _, _, each in others[at:])
    return result


def _sorted_as_live(others: list[tuple[int, Any, Any]]) -> list[tuple[int, Any, Any]]:
    """In live order. What was not live passes, and is passed by, everything: upstream's comparison says so."""
    if all(entry[0] >= 0 for entry in others):
        return sorted(others, key=_rank)
    placed: list[tuple[int, Any, Any]] = []
    for entry in others:
        at = len(placed)
        while at and (entry[0] < 0 or placed[at - 1][0] < 0 or entry[0] < placed[at - 1][0]):
            at -= 1
        placed.insert(at, entry)
    return placed


def _rank(entry: tuple[int, Any, Any]) -> int:
    return entry[0]


def _ranks(items: list[Any], merge_key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for position, each in enumerate(items):
        ranks.setdefault(element_identity(each, merge_key), position)
    return ranks


def identity_of(value: Any) -> Any:
    """What two elements must share to be one: the value and its type (1 and true are equal to Python)."""
    kind = type(value)
    if kind is str:
        return value
    if kind is dict or kind is list:
        raise failed(f"runtime error: comparing uncomparable type {go_type(value)}")
    return kind, value


def element_type(*lists: list[Any]) -> type:
    found: type | None = None
    for items in lists:
        for each in items:
            kind = type(each)
            if found is None:
                if kind is list:
                    raise refused()
                found = kind
            elif kind is not found:
                raise failed(f"list element types are not identical: {go_text(list(lists))}")
    if found is None:
        raise failed("no elements in any of the given slices")
    return found
