"""The extensions that say how lists and maps are merged, and what they demand of their items."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, child, forbidden, invalid, key, not_supported, required
from tiphys.machinery.tree import Obj

_LIST_TYPE = "x-kubernetes-list-type"
_MAP_TYPE = "x-kubernetes-map-type"
_KEYS = "x-kubernetes-list-map-keys"


def validate_lists(schema: Obj, at: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(child(at, "x-kubernetes-preserve-unknown-fields"), False, "must be true or undefined")
    kind, map_type, list_type = schema.get("type", ""), schema.get(_MAP_TYPE), schema.get(_LIST_TYPE)
    if map_type is not None:
        yield from _wants_type(kind, "object", _MAP_TYPE, at)
        if map_type not in ("atomic", "granular"):
            yield not_supported(child(at, _MAP_TYPE), map_type, ("atomic", "granular"))
    items = schema.get("items")
    if list_type is not None and kind != "array":
        yield from _wants_type(kind, "array", _LIST_TYPE, at)
    elif list_type == "set" and isinstance(items, dict):
        yield from _validate_set_items(items, child(at, "items"))
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        yield not_supported(child(at, _LIST_TYPE), list_type, ("atomic", "set", "map"))
    if schema.get(_KEYS) and list_type != "map":
        told = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield required(child(at, _LIST_TYPE), told) if list_type is None else invalid(child(at, _LIST_TYPE), list_type, told)
    if list_type == "map":
        yield from _validate_map(schema, at)
    if list_type in ("set", "map") and isinstance(items, dict):
        yield from _validate_members(schema, items, child(at, "items"))


def _wants_type(kind: str, wanted: str, extension: str, at: str) -> Iterator[FieldError]:
    if kind == wanted:
        return
    told = f"must be {wanted} if {extension} is specified"
    yield invalid(child(at, "type"), kind, told) if kind else required(child(at, "type"), told)


def _validate_set_items(items: Obj, at: str) -> Iterator[FieldError]:
    told = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind, list_type = items.get("type"), items.get(_LIST_TYPE)
    if kind == "array" and list_type not in (None, "atomic"):
        yield invalid(child(at, _LIST_TYPE), list_type, told)
    # The value shown is upstream's: it looks at the wrong field.
    if kind == "object" and items.get(_MAP_TYPE) != "atomic":
        yield invalid(child(at, _MAP_TYPE), list_type, told)


def _validate_map(schema: Obj, at: str) -> Iterator[FieldError]:
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    where = child(at, _KEYS)
    if not keys:
        yield required(where, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(child(at, "items"), "must have a schema if x-kubernetes-list-type is map")
        return
    if not isinstance(items, dict):
        yield invalid(child(at, "items"), items, "must only have a single schema if x-kubernetes-list-type is map")
        return
    kind = items.get("type", "")
    if kind != "object":
        told = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(child(at, "items", "type"), kind, told)
        return
    properties = items.get("properties") or {}
    for position, name in enumerate(keys):
        if name not in properties:
            yield invalid(where, keys, "entries must all be names of item properties")
        elif properties[name].get("type") in ("array", "object"):
            told = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(child(key(child(at, "items", "properties"), name), "type"), kind, told)
        if name in keys[:position]:
            yield invalid(where, keys, "must not contain duplicate entries")


def _validate_members(schema: Obj, items: Obj, at: str) -> Iterator[FieldError]:
    """Members are found again by their keys, so the keys are always there."""
    if items.get("nullable"):
        yield forbidden(child(at, "nullable"), f"cannot be nullable when x-kubernetes-list-type is {schema[_LIST_TYPE]}")
    if schema[_LIST_TYPE] != "map":
        return
    told = "this property is in x-kubernetes-list-map-keys, so it"
    properties = items.get("properties") or {}
    for name in schema.get(_KEYS) or ():
        if name not in properties:
            continue
        where = key(child(at, "properties"), name)
        if name not in (items.get("required") or ()) and properties[name].get("default") is None:
            yield required(child(where, "default"), f"{told} must have a default or be a required property")
        if properties[name].get("nullable"):
            yield forbidden(child(where, "nullable"), f"{told} cannot be nullable")
