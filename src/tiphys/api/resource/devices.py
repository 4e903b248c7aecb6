"""A device in a slice: what it is, how much of it there is, and which pods should stay away."""

import re
from collections.abc import Iterator
from typing import Any

from tiphys.api import resources
from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.scheduling import validate_node_selector
from tiphys.api.resource import capacities
from tiphys.api.resource.allocations import validate_binding
from tiphys.api.resource.names import (
    LONGEST_KEY,
    validate_each,
    validate_label,
    validate_map,
    validate_node_name,
    validate_qualified,
)
from tiphys.api.resource.requests import EFFECTS, validate_value
from tiphys.machinery import quantity
from tiphys.machinery.fields import (
    FieldError,
    child,
    index,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import label_name, size

MOST_ATTRIBUTES = 32
MOST_VALUES = 48
MOST_TAINTS = 16
MOST_CONSUMPTIONS = 2
MOST_COUNTERS = 32
LONGEST_VALUE = 64

SINGLE = ("bool", "int", "string", "version")
LISTS = ("bools", "ints", "strings", "versions")

PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)

_NUMERIC = r"(0|[1-9]\d*)"
_PRE_RELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = "[0-9a-zA-Z-]+"
_SEMVER = re.compile(
    rf"{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def no_problems(_item: Any, _at: str) -> Iterator[FieldError]:
    yield from ()


def is_complex(device: Obj) -> bool:
    """Slices with such devices hold fewer of them."""
    lists = any(attribute.get(name) is not None for attribute in (device.get("attributes") or {}).values() for name in LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def validate(device: Obj, at: str, *, per_device: bool) -> Iterator[FieldError]:
    """All but the taints, which are looked at only when they change."""
    yield from validate_label(device.get("name", ""), child(at, "name"))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total, values = len(attributes) + len(capacity), sum(map(_values_of, attributes.values()))
    if total > MOST_ATTRIBUTES:
        yield invalid(at, total, f"the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}")
    if values > MOST_VALUES:
        yield invalid(at, values, f"the total number of attribute values must not exceed {MOST_VALUES}")
    yield from validate_map(attributes, -1, LONGEST_KEY, validate_qualified, _validate_attribute, child(at, "attributes"))
    check = capacities.validate_shared if device.get("allowMultipleAllocations") else capacities.validate_exclusive
    yield from validate_map(capacity, -1, LONGEST_KEY, validate_qualified, check, child(at, "capacity"))
    consumed = device.get("consumesCounters")
    yield from validate_each(consumed, MOST_CONSUMPTIONS, _validate_consumption, child(at, "consumesCounters"), _counter_set)
    yield from _validate_place(device, at, per_device=per_device)
    yield from validate_binding(device, at)
    yield from _validate_mappings(device, child(at, "nodeAllocatableResourceMappings"))


def _values_of(attribute: Obj) -> int:
    return sum(len(attribute.get(name) or ()) for name in LISTS) or 1


def validate_taints(device: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_each(device.get("taints"), MOST_TAINTS, _validate_taint, child(at, "taints"))


def _validate_taint(taint: Obj, at: str) -> Iterator[FieldError]:
    yield from label_name(taint.get("key", ""), child(at, "key"))
    if taint.get("value"):
        yield from validate_value(taint["value"], child(at, "value"))
    effect = taint.get("effect", "")
    if not effect:
        yield required(child(at, "effect"))
    elif effect not in EFFECTS:
        yield not_supported(child(at, "effect"), effect, EFFECTS)


def _validate_attribute(attribute: Obj, at: str) -> Iterator[FieldError]:
    given = [name for name in (*SINGLE, *LISTS) if attribute.get(name) is not None]
    for name in given:
        where, value = child(at, name), attribute[name]
        if name in LISTS and not value:
            yield invalid(where, value, "must not be empty if specified")
        if name == "string":
            yield from _validate_string(value, where)
        elif name == "version":
            yield from _validate_version(value, where)
        elif name in ("strings", "versions"):
            check = _validate_string if name == "strings" else _validate_version
            for position, item in enumerate(value):
                yield from check(item, index(where, position))
    if len(given) != 1:
        yield invalid(at, told(attribute, "DeviceAttribute") if given else "", "exactly one value must be specified")


def _validate_string(value: str, at: str) -> Iterator[FieldError]:
    if size(value) > LONGEST_VALUE:
        yield too_long(at, LONGEST_VALUE)


def _validate_version(value: str, at: str) -> Iterator[FieldError]:
    if not _SEMVER.fullmatch(value):
        yield invalid(at, value, "must be a string compatible with semver.org spec 2.0.0")
    yield from _validate_string(value, at)


def _counter_set(consumption: Obj) -> str:
    name: str = consumption.get("counterSet", "")
    return name


def _validate_consumption(consumption: Obj, at: str) -> Iterator[FieldError]:
    name = _counter_set(consumption)
    if not name:
        yield required(child(at, "counterSet"))
    else:
        yield from validate_label(name, child(at, "counterSet"))
    counters, where = consumption.get("counters"), child(at, "counters")
    if not counters:
        yield required(where)
    else:
        yield from validate_map(counters, MOST_COUNTERS, 63, validate_label, no_problems, where)


def _validate_place(device: Obj, at: str, *, per_device: bool) -> Iterator[FieldError]:
    name, selector, everywhere = device.get("nodeName"), device.get("nodeSelector"), device.get("allNodes")
    if not per_device:
        if name is not None or selector is not None or everywhere is not None:
            yield invalid(at, None, NO_PLACE)
        return
    chosen = []
    if name:
        chosen.append("`nodeName`")
        yield from validate_node_name(name, child(at, "nodeName"))
    elif name is not None:
        yield invalid(child(at, "nodeName"), name, "must not be empty")
    if selector is not None:
        chosen.append("`nodeSelector`")
        yield from validate_node_selector(selector, child(at, "nodeSelector"))
    if everywhere:
        chosen.append("`allNodes`")
    elif everywhere is not None:
        yield invalid(child(at, "allNodes"), everywhere, "must be either unset or set to true")
    if not chosen:
        yield required(at, PLACE)
    elif len(chosen) > 1:
        yield invalid(at, "{" + ", ".join(chosen) + "}", PLACE)


def _validate_mappings(device: Obj, at: str) -> Iterator[FieldError]:
    known = device.get("capacity") or {}
    for name, mapping in (device.get("nodeAllocatableResourceMappings") or {}).items():
        where = f"{at}[{name}]"
        if not resources.is_native(name):
            yield invalid(where, name, "must be a node allocatable resource name")
        factor, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if factor is None and key is None:
            yield invalid(where, "", "at least one of allocationMultiplier or capacityKey must be set")
        if factor is not None and quantity.parse(factor).sign() <= 0:
            yield invalid(child(where, "allocationMultiplier"), factor, "must be positive")
        if key == "":
            yield invalid(child(where, "capacityKey"), "", "capacityKey must not be an empty string")
        elif key is not None and key not in known:
            yield not_found(child(where, "capacityKey"), key)
