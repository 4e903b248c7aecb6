"""What a claim was given: devices, the settings that go with them, and who uses them."""

import re
from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Any

from tiphys.api.pod_template.internal import told as shown
from tiphys.api.pod_template.scheduling import validate_node_selector
from tiphys.api.resource.names import validate_each, validate_label, validate_pool
from tiphys.api.resource.requests import (
    MOST_CONFIGS,
    Names,
    names_of,
    validate_claim_config,
    validate_raw,
    validate_reference,
)
from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import (
    FieldError,
    Verbatim,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
)
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, conditions, label_name, size

MOST_CONSUMERS = 256
MOST_RESULTS = 32
MOST_BINDING_CONDITIONS = 4
MOST_CONDITIONS = 8
LARGEST_DATA = 10 * 1024
MOST_ADDRESSES = 16
LONGEST_INTERFACE = 256
LONGEST_HARDWARE_ADDRESS = 128
SOURCES = ("FromClaim", "FromClass")

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

DeviceKey = tuple[str, str, str, str]


def device_key(device: Obj) -> DeviceKey:
    return tuple(device.get(name, "") for name in ("driver", "pool", "device", "shareID"))


def validate_status(new: Obj, old: Obj) -> Iterator[FieldError]:
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation = status.get("allocation")
    names = names_of(get(new, ("spec", "devices")) or {})
    consumers = status.get("reservedFor")
    yield from validate_each(consumers, MOST_CONSUMERS, _validate_consumer, "status.reservedFor", _uid)
    yield from _validate_devices(status)
    if consumers:
        if allocation is None:
            yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
        elif new["metadata"].get("deletionTimestamp"):
            known = before.get("reservedFor") or []
            if any(each not in known for each in consumers):
                told = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
                yield forbidden("status.reservedFor", told)
    if allocation is not None and before.get("allocation") is not None:
        if allocation != before["allocation"]:
            yield invalid("status.allocation", shown(allocation, "AllocationResult"), IMMUTABLE)
    elif allocation is not None:
        yield from _validate_allocation(allocation, "status.allocation", names)


def _uid(consumer: Obj) -> str:
    uid: str = consumer.get("uid", "")
    return uid


def _validate_consumer(consumer: Obj, at: str) -> Iterator[FieldError]:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            yield required(child(at, name))


def _validate_allocation(allocation: Obj, at: str, names: Names) -> Iterator[FieldError]:
    devices, where = allocation.get("devices") or {}, child(at, "devices")

    def check_result(result: Obj, here: str) -> Iterator[FieldError]:
        return _validate_result(result, here, names)

    def check_config(config: Obj, here: str) -> Iterator[FieldError]:
        source = config.get("source", "")
        if not source:
            yield required(child(here, "source"))
        elif source not in SOURCES:
            yield not_supported(child(here, "source"), source, SOURCES)
        yield from validate_claim_config(config, here, names)

    yield from validate_each(devices.get("results"), MOST_RESULTS, check_result, child(where, "results"))
    yield from validate_each(devices.get("config"), 2 * MOST_CONFIGS, check_config, child(where, "config"))
    if allocation.get("nodeSelector") is not None:
        yield from validate_node_selector(allocation["nodeSelector"], child(at, "nodeSelector"))


def _validate_result(result: Obj, at: str, names: Names) -> Iterator[FieldError]:
    yield from validate_reference(result.get("request", ""), child(at, "request"), names)
    yield from validate_driver(result.get("driver", ""), child(at, "driver"))
    yield from validate_pool(result.get("pool", ""), child(at, "pool"))
    yield from validate_label(result.get("device", ""), child(at, "device"))
    yield from validate_binding(result, at)
    if result.get("shareID") is not None:
        yield from _validate_uuid(result["shareID"], child(at, "shareID"))


def validate_binding(device: Obj, at: str) -> Iterator[FieldError]:
    """Conditions that say whether a device has become ready, and those that say it never will."""
    good, bad = device.get("bindingConditions") or [], device.get("bindingFailureConditions") or []
    at_good, at_bad = child(at, "bindingConditions"), child(at, "bindingFailureConditions")
    yield from validate_each(good, MOST_BINDING_CONDITIONS, label_name, at_good)
    yield from validate_each(bad, MOST_BINDING_CONDITIONS, label_name, at_bad)
    for position, condition in enumerate(good):
        if condition in good[:position]:
            yield duplicate(index(at_good, position), condition)
    for position, condition in enumerate(bad):
        if condition in bad[:position]:
            yield duplicate(index(at_bad, position), condition)
        if condition in good:
            told = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(index(at_bad, position), condition, told)
    if bad and not good:
        told = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(at_good, device.get("bindingConditions"), told)
    if good and not bad:
        told = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(at_bad, device.get("bindingFailureConditions"), told)


def _validate_uuid(uid: str, at: str) -> Iterator[FieldError]:
    if not _UUID.fullmatch(uid):
        yield invalid(at, uid, f"error validating uid: {_uuid_problem(uid)}")
    elif uid != uid.lower():
        form = "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
        told = f"uid must be in RFC 4122 normalized form, {form}"
        yield invalid(at, uid, told)


def _uuid_problem(uid: str) -> str:
    return "invalid UUID format" if len(uid) == 36 else f"invalid UUID length: {len(uid)}"


def _validate_devices(status: Obj) -> Iterator[FieldError]:
    allocated = {device_key(each) for each in get(status, ("allocation", "devices", "results")) or ()}
    devices = status.get("devices") or []
    for position, device in enumerate(devices):
        yield from _validate_device(device, index("status.devices", position), allocated)
    keys = [device_key(each) for each in devices]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            yield duplicate(index("status.devices", position), _as_upstream_shows(key))


def _as_upstream_shows(key: DeviceKey) -> Verbatim:
    driver, pool, device, share = key
    return Verbatim(f'{{"Driver":{quote(driver)},"Pool":{quote(pool)},"Device":{quote(device)},"ShareID":{quote(share)}}}')


def _validate_device(device: Obj, at: str, allocated: set[DeviceKey]) -> Iterator[FieldError]:
    yield from validate_driver(device.get("driver", ""), child(at, "driver"))
    yield from validate_pool(device.get("pool", ""), child(at, "pool"))
    yield from validate_label(device.get("device", ""), child(at, "device"))
    if device.get("shareID") is not None:
        yield from _validate_uuid(device["shareID"], child(at, "shareID"))
    key = device_key(device)
    if key not in allocated:
        yield invalid(at, _as_upstream_shows(key), "must be an allocated device in the claim")
    told: list[Any] = device.get("conditions") or []
    if len(told) > MOST_CONDITIONS:
        yield too_many(child(at, "conditions"), len(told), MOST_CONDITIONS)
    yield from conditions(told, child(at, "conditions"))
    if device.get("data") is not None:
        yield from validate_raw(device["data"], child(at, "data"), LARGEST_DATA)
    yield from _validate_network(device.get("networkData") or {}, child(at, "networkData"))


def _validate_network(data: Obj, at: str) -> Iterator[FieldError]:
    for name, longest in (("interfaceName", LONGEST_INTERFACE), ("hardwareAddress", LONGEST_HARDWARE_ADDRESS)):
        if size(data.get(name, "")) > longest:
            yield too_long(child(at, name), longest)
    yield from validate_each(data.get("ips"), MOST_ADDRESSES, _validate_address, child(at, "ips"), str)


def _validate_address(address: str, at: str) -> Iterator[FieldError]:
    try:
        parsed = ip_interface(address if "/" in address else "")
    except ValueError:
        told = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        yield invalid(at, address, told)
        return
    if str(parsed) != address:
        yield invalid(at, address, f'must be in canonical form ("{parsed}")')
