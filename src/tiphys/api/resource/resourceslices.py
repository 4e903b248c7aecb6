"""ResourceSlice: devices that a driver offers, on one node or reachable from several."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.pod_template.scheduling import validate_node_selector
from tiphys.api.resource import devices
from tiphys.api.resource.names import by_name, validate_each, validate_label, validate_map, validate_node_name, validate_pool
from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import FieldError, child, invalid, required, show
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import immutable

MOST_DEVICES = 128
MOST_COMPLEX_DEVICES = 64
MOST_COUNTER_SETS = 8
MOST_COUNTERS = 32
ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
TRUE_OR_UNSET = "must be either unset or set to true"


def default(resource_slice: Obj) -> None:
    spec = resource_slice.setdefault("spec", {})
    spec.setdefault("pool", {}).setdefault("generation", 0)
    for device in spec.get("devices") or ():
        for mapping in (device.get("nodeAllocatableResourceMappings") or {}).values():
            mapping.setdefault("allocationMultiplier", "1")


def prepare_create(resource_slice: Obj) -> None:
    created = resource_slice["metadata"].get("creationTimestamp")
    _date_taints(resource_slice, created)


def prepare_update(new: Obj, old: Obj) -> None:
    """A taint that came without its time keeps the one it had."""
    known = {
        (by_name(device), taint.get("key"), taint.get("effect")): taint.get("timeAdded")
        for device in get(old, ("spec", "devices")) or ()
        for taint in device.get("taints") or ()
    }
    for device in get(new, ("spec", "devices")) or ():
        for taint in device.get("taints") or ():
            had = known.get((by_name(device), taint.get("key"), taint.get("effect")))
            if had is not None:
                taint.setdefault("timeAdded", had)


def _date_taints(resource_slice: Obj, now: str | None) -> None:
    for device in resource_slice["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            if now is not None:
                taint.setdefault("timeAdded", now)


def validate(resource_slice: Obj) -> Iterator[FieldError]:
    spec = resource_slice["spec"]
    yield from validate_driver(spec.get("driver", ""), "spec.driver")
    yield from _validate_pool(spec.get("pool") or {}, "spec.pool")
    yield from _validate_place(spec, "spec")
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    per_device = spec.get("perDeviceNodeSelection") is True

    def check_device(device: Obj, at: str) -> Iterator[FieldError]:
        return devices.validate(device, at, per_device=per_device)

    listed = spec.get("devices") or []
    most = MOST_COMPLEX_DEVICES if any(map(devices.is_complex, listed)) else MOST_DEVICES
    yield from validate_each(listed, most, check_device, "spec.devices", by_name)
    counters = spec.get("sharedCounters")
    yield from validate_each(counters, MOST_COUNTER_SETS, _validate_counters, "spec.sharedCounters", by_name)


def _validate_pool(pool: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_pool(by_name(pool), child(at, "name"))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        yield invalid(child(at, "resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        yield invalid(child(at, "generation"), generation, "must be greater than or equal to zero")


def _validate_place(spec: Obj, at: str) -> Iterator[FieldError]:
    """Where the devices are: one node, some, all, or told device by device."""
    chosen = []
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        chosen.append("`nodeName`")
        yield from validate_node_name(name, child(at, "nodeName"))
    elif name is not None:
        yield invalid(child(at, "nodeName"), name, "must be either unset or set to a non-empty string")
    if selector is not None:
        chosen.append("`nodeSelector`")
        yield from validate_node_selector(selector, child(at, "nodeSelector"))
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            where = child(at, "nodeSelector", "nodeSelectorTerms")
            yield invalid(where, selector.get("nodeSelectorTerms"), "must have exactly one node selector term")
    for flag in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(flag) is True:
            chosen.append(f"`{flag}`")
        elif spec.get(flag) is False:
            yield invalid(child(at, flag), False, TRUE_OR_UNSET)
    if not chosen:
        yield required(at, ONE_PLACE)
    elif len(chosen) > 1:
        yield invalid(at, "{" + ", ".join(chosen) + "}", ONE_PLACE + ", but multiple fields are set")


def _validate_counters(counter_set: Obj, at: str) -> Iterator[FieldError]:
    name = by_name(counter_set)
    if not name:
        yield required(child(at, "name"))
    else:
        yield from validate_label(name, child(at, "name"))
    counters = counter_set.get("counters")
    if not counters:
        yield required(child(at, "counters"))
    else:
        where = child(at, "counters")
        yield from validate_map(counters, MOST_COUNTERS, 63, validate_label, devices.no_problems, where)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before = new["spec"], old["spec"]
    yield from immutable(get(spec, ("pool", "name"), ""), get(before, ("pool", "name"), ""), "spec.pool.name")
    yield from immutable(spec.get("driver", ""), before.get("driver", ""), "spec.driver")
    yield from immutable(spec.get("nodeName"), before.get("nodeName"), "spec.nodeName")
    known = {by_name(device): device.get("taints") for device in before.get("devices") or ()}
    for position, device in enumerate(spec.get("devices") or ()):
        if device.get("taints") != known.get(by_name(device)):
            yield from devices.validate_taints(device, f"spec.devices[{position}]")


def validate_create(resource_slice: Obj) -> Iterator[FieldError]:
    for position, device in enumerate(resource_slice["spec"].get("devices") or ()):
        yield from devices.validate_taints(device, f"spec.devices[{position}]")


def warnings(new: Obj, _old: Obj | None) -> Iterable[str]:
    driver = new["spec"].get("driver", "")
    if driver != driver.lower():
        yield f"spec.driver: driver names should be lowercase; {show(driver)} contains uppercase characters"


RESOURCESLICES = Kind(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceSlice",
    plural="resourceslices",
    singular="resourceslice",
    namespaced=False,
    schema="io.k8s.api.resource.v1.ResourceSlice",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(generation_of=SPEC, returns_deleted=True),
    selectable=("spec.nodeName", "spec.driver"),
    columns=(
        Column("Node", lambda each, _now: get(each, ("spec", "nodeName"), "")),
        Column("Driver", lambda each, _now: get(each, ("spec", "driver"), "")),
        Column("Pool", lambda each, _now: get(each, ("spec", "pool", "name"), "")),
        AGE,
    ),
)
