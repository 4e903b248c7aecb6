"""Objects of a strategic merge patch: fields, directives, and the lists in them."""

from typing import Any

from tiphys.machinery.errors import bad_request
from tiphys.machinery.patch.json import GO_KINDS
from tiphys.machinery.patch.strategic.lists import (
    ORDER,
    PATCH,
    as_left_behind,
    check_order,
    element_identity,
    element_type,
    failed,
    identity_of,
    in_order,
    no_merge_key,
    unknown_directive,
    wrong_type,
)
from tiphys.machinery.schema import Node
from tiphys.machinery.tree import Obj

_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"

_ABSENT = object()


def apply(tree: Obj, patch: Any, node: Node) -> Obj:
    """`tree` with a strategic merge patch applied; `node` is the schema of `tree`. Neither tree is changed.

    The result may hold nulls and directives that only decoding against the schema removes (upstream decodes the result too).
    Raises ApiError: 400 for a patch of the wrong form, 422 for a list of lists, 500 where upstream fails without a reason.
    """
    if patch is None:
        return tree
    if not isinstance(patch, dict):
        kind = GO_KINDS.get(type(patch), "value")
        raise bad_request(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    return _merge_map(tree, patch, node)


def _merge_map(original: Obj, patch: Obj, node: Node | None) -> Obj:
    directive = patch.get(PATCH, _ABSENT)
    if directive is not _ABSENT:
        if directive == "replace":
            return {key: value for key, value in patch.items() if key != PATCH}
        if directive == "delete":
            return {}
        raise unknown_directive(directive, patch)
    merged = _retained(original, patch) if _RETAIN in patch else dict(original)
    ordered: set[str] = set()
    for key, value in patch.items():
        if key.startswith(ORDER):
            ordered.add(_merge_ordered(merged, patch, node, key, value))
    deletions: list[tuple[str, Any]] = []
    for key, value in patch.items():
        if key[:1] == "$":
            if key == _RETAIN or key.startswith(ORDER):
                continue
            if key.startswith(_DELETE):
                deletions.append((_list_named(key, _DELETE), value))
                continue
        if key not in ordered:
            _merge_field(merged, key, value, node)
    # Upstream does them whenever its map comes to them; last, what is to be deleted is gone for certain.
    for name, value in deletions:
        _delete_primitives(merged, name, value, node)
    return merged


def _merge_field(merged: Obj, key: str, value: Any, node: Node | None) -> None:
    """Change `merged[key]` as the patch value says."""
    if value is None:
        merged.pop(key, None)
        return
    old = merged.get(key, _ABSENT)
    if type(old) is not type(value):
        # Absent, or of another type: the patch value counts, without its nulls and directives.
        new = _clean(value)
        if new is _ABSENT:
            merged.pop(key, None)
        else:
            merged[key] = new
    elif isinstance(value, dict):
        below = _field(node, key)
        if below is not None and "replace" in below.patch_strategies:
            merged[key] = value
        else:
            merged[key] = _merge_map(old, value, below)
    elif isinstance(value, list):
        below = _field(node, key)
        if below is not None and "merge" in below.patch_strategies:
            merged[key] = _merge_list(old, value, below)
        else:
            merged[key] = value
    else:
        merged[key] = value


def _field(node: Node | None, key: str) -> Node | None:
    """The schema of a field that both sides have; upstream refuses to merge what it has no type for."""
    if node is None:
        return None
    if node.type == "map":
        raise failed("merging an object in json but data type is not struct, instead is: map")
    below = node.fields.get(key)
    if below is None:
        name = node.definition.rpartition(".")[2]
        raise failed(f'unable to find api field in struct {name} for the json field "{key}"')
    return below


def _retained(original: Obj, patch: Obj) -> Obj:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is None or key == _RETAIN or key.startswith((_DELETE, ORDER)):
            continue
        if key not in keys:
            raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _list_named(key: str, prefix: str) -> str:
    """The list that a directive such as `$setElementOrder/containers` is about."""
    head, slash, name = key.partition("/")
    if not slash or head != prefix:
        what = "primitive list" if prefix == _DELETE else "setElementOrder list"
        raise bad_request(f"invalid patch format of {what}")
    return name


def _delete_primitives(merged: Obj, name: str, value: Any, node: Node | None) -> None:
    if value is None:
        merged.pop(name, None)
        return
    old = merged.get(name)
    if not isinstance(old, list) or not isinstance(value, list):
        return
    _field(node, name)
    if not old and not value:
        return
    if element_type(old, value) is dict:
        raise no_merge_key({}, "")
    gone = {identity_of(each) for each in value}
    merged[name] = [each for each in old if identity_of(each) not in gone]


def _merge_ordered(merged: Obj, patch: Obj, node: Node | None, key: str, order: Any) -> str:
    """Merge one list under its `$setElementOrder` directive; the name of the list."""
    if not isinstance(order, list):
        raise wrong_type("[]interface {}", order)
    name = _list_named(key, ORDER)
    old, change = merged.get(name, _ABSENT), patch.get(name, _ABSENT)
    for each in (old, change):
        if each is not _ABSENT and not isinstance(each, list):
            raise wrong_type("[]interface {}", each)
    below = _field(node, name)
    merge_key = below.merge_key if below else ""
    check_order(change if isinstance(change, list) else [], order, merge_key)
    if not isinstance(change, list):
        if not isinstance(old, list):
            return name
        together = old
    elif not isinstance(old, list):
        together = _clean(change)
    elif below is not None and "merge" in below.patch_strategies:
        together = _merge_list(old, change, below)
    else:
        together = change
    live = old if isinstance(old, list) else []
    if merge_key and isinstance(change, list) and live and together is not old:
        live = as_left_behind(live, change, merge_key)
    keyed = element_type(live, change if isinstance(change, list) else []) is dict
    merged[name] = in_order(together, order, live, merge_key, keyed)
    return name


def _merge_list(original: list[Any], patch: list[Any], node: Node) -> list[Any]:
    if not original and not patch:
        return original
    merge_key = node.merge_key
    if element_type(original, patch) is not dict:
        unique = {identity_of(each): each for each in reversed(original + patch)}
        return in_order(list(unique.values()), patch, original, "", keyed=False)
    if not merge_key:
        raise failed("cannot merge lists without merge key for struct")
    original, patch = _special_elements(original, patch, merge_key)
    merged = list(original)
    where: dict[Any, int] = {}
    for position, each in enumerate(merged):
        if not isinstance(each, dict):
            raise failed(f"value for key {position} is not a map")
        if merge_key in each:
            where.setdefault(identity_of(each[merge_key]), position)
    for each in patch:
        identity = element_identity(each, merge_key)
        found = where.get(identity)
        if found is None:
            where[identity] = len(merged)
            merged.append(each)
        else:
            merged[found] = _merge_map(merged[found], each, node.items)
    if len(patch) == 1 and len(merged) == len(original):
        # One element changed where it stood: the order cannot differ.
        _check_merge_keys(merged, merge_key)
        return merged
    return in_order(merged, patch, original, merge_key, keyed=True)


def _check_merge_keys(items: list[Any], merge_key: str) -> None:
    for each in items:
        if merge_key not in each:
            raise no_merge_key(each, merge_key)


def _special_elements(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the `$patch` elements of a list of maps: what is left of the original, and the plain elements."""
    if not any(PATCH in each for each in patch):
        return original, patch
    plain: list[Any] = []
    replace = False
    for each in patch:
        directive = each.get(PATCH, _ABSENT)
        if directive is _ABSENT:
            plain.append(each)
        elif directive == "delete":
            identity = element_identity(each, merge_key)
            original = [item for item in original if merge_key not in item or identity_of(item[merge_key]) != identity]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise failed("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(directive, each)
    return (plain, []) if replace else (original, plain)


def _clean(value: Any) -> Any:
    """A patch value as it stands where there was none: no null members, nothing that carries a `$patch` directive."""
    if isinstance(value, dict):
        if PATCH in value:
            return _ABSENT
        cleaned = {}
        for key, each in value.items():
            if each is None:
                continue
            if type(each) is dict or type(each) is list:
                each = _clean(each)
                if each is _ABSENT:
                    continue
            cleaned[key] = each
        return cleaned
    if isinstance(value, list):
        return [each for each in map(_clean, value) if each is not _ABSENT]
    return value
