"""CSINode: which storage drivers run on a node, and how they call it."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, at_least_zero, qualified_name, size

LONGEST_NODE_ID = 256


def default(node: Obj) -> None:
    spec = node.setdefault("spec", {})
    # Upstream writes null for these lists where they are empty.
    spec["drivers"] = spec.get("drivers") or None
    for driver in spec["drivers"] or ():
        driver.setdefault("topologyKeys", None)


def validate(node: Obj) -> Iterator[FieldError]:
    names = set()
    for position, driver in enumerate(node["spec"].get("drivers") or ()):
        at, name = index("spec.drivers", position), driver.get("name", "")
        yield from _validate_driver(driver, at)
        if name in names:
            yield duplicate(child(at, "name"), name)
        names.add(name)
        yield from _validate_topology_keys(driver.get("topologyKeys") or [], at)


def _validate_driver(driver: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_driver(driver.get("name", ""), child(at, "name"))
    node_id = driver.get("nodeID", "")
    if not node_id:
        yield required(child(at, "nodeID"))
    if size(node_id) > LONGEST_NODE_ID:
        yield invalid(child(at, "nodeID"), node_id, f"must be {LONGEST_NODE_ID} characters or less")
    yield from at_least_zero(get(driver, ("allocatable", "count")), child(at, "allocatable", "count"))


def _validate_topology_keys(keys: list[str], at: str) -> Iterator[FieldError]:
    seen = set()
    for key in keys:
        if not key:
            yield required(at)
        if key in seen:
            yield duplicate(at, key)
        seen.add(key)
        for problem in qualified_name(key):
            yield invalid(at, key, problem)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Drivers come and go, but only the volume limit of one may change."""
    now = [_fixed(driver) for driver in new["spec"].get("drivers") or ()]
    for before in map(_fixed, old["spec"].get("drivers") or ()):
        for driver in now:
            if driver.get("name") == before.get("name") and driver != before:
                yield invalid("spec.drivers", told(driver, "CSINodeDriver"), IMMUTABLE)


def _fixed(driver: Obj) -> Obj:
    return {key: value for key, value in driver.items() if key != "allocatable"}


CSINODES = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSINode",
    plural="csinodes",
    singular="csinode",
    namespaced=False,
    schema="io.k8s.api.storage.v1.CSINode",
    default=default,
    validate=validate,
    validate_update=validate_update,
    strategy=Strategy(unconditional_update=False, returns_deleted=True),
    columns=(
        Column(
            "Drivers",
            lambda each, _now: len(get(each, ("spec", "drivers")) or ()),
            type="integer",
            description="Drivers indicates the number of CSI drivers registered on the node",
        ),
        AGE,
    ),
)
