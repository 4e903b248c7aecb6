"""JSON merge patch (RFC 7386): null removes, an object merges, everything else replaces."""

from typing import Any

from tiphys.machinery.errors import ApiError, bad_request
from tiphys.machinery.patch.json import GO_KINDS
from tiphys.machinery.tree import Obj


def apply(tree: Obj, patch: Any, *, lenient: bool = False) -> Any:
    """`tree` with `patch` merged in; neither is changed. Raises ApiError 400 for a patch that is not an object.

    `lenient` is for fieldValidation=Ignore, where a list is accepted and takes the place of the object.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        if not lenient:
            raise _not_an_object(patch)
        if not isinstance(patch, list):
            raise bad_request("Invalid JSON Patch")
        return _without_nulls(patch)
    return _merge(tree, patch)


def _merge(tree: Obj, patch: Obj) -> Obj:
    merged = dict(tree)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        old = merged.get(key)
        if isinstance(old, dict):
            merged[key] = _merge(old, value) if isinstance(value, dict) else value
        else:
            merged[key] = _without_nulls(value)
    return merged


def _without_nulls(value: Any) -> Any:
    """`value` without members that are null, in the objects of its lists too; elements that are null stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def _not_an_object(patch: Any) -> ApiError:
    kind = GO_KINDS.get(type(patch), "value")
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
