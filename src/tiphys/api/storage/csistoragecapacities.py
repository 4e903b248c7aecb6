"""CSIStorageCapacity: how much room a driver has left for a class of volumes, near some nodes."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import Column, Kind, Strategy
from tiphys.api.node.labels import deprecated_label
from tiphys.machinery import quantity, selectors
from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import AT_LEAST_ZERO, dns1123_subdomain, immutable


def default(capacity: Obj) -> None:
    capacity.setdefault("storageClassName", "")


def validate_create(capacity: Obj) -> Iterator[FieldError]:
    yield from _validate(capacity, lenient=False)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    was_wrong = any(True for _ in selectors.validate_label_selector(old.get("nodeTopology"), ""))
    yield from _validate(new, lenient=was_wrong)
    yield from immutable(new.get("nodeTopology"), old.get("nodeTopology"), "nodeTopology")
    yield from immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName")


def _validate(capacity: Obj, *, lenient: bool) -> Iterator[FieldError]:
    yield from selectors.validate_label_selector(capacity.get("nodeTopology"), "nodeTopology", allow_invalid_values=lenient)
    name = capacity.get("storageClassName", "")
    for problem in dns1123_subdomain(name):
        yield invalid("storageClassName", name, problem)
    room = capacity.get("capacity")
    if room is not None and quantity.parse(room).sign() < 0:
        yield invalid("capacity", room, AT_LEAST_ZERO)


def warnings(new: Obj, _old: Obj | None) -> Iterable[str]:
    topology = new.get("nodeTopology") or {}
    for position, expression in enumerate(topology.get("matchExpressions") or ()):
        key = expression.get("key", "")
        told = deprecated_label(key)
        if told:
            yield f"nodeTopology.matchExpressions[{position}].key: {key} is {told}"
    for key in topology.get("matchLabels") or {}:
        told = deprecated_label(key)
        if told:
            yield f"nodeTopology.matchLabels.{key}: {told}"


CSISTORAGECAPACITIES = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSIStorageCapacity",
    plural="csistoragecapacities",
    singular="csistoragecapacity",
    schema="io.k8s.api.storage.v1.CSIStorageCapacity",
    default=default,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(unconditional_update=False),
    # Upstream gives this kind no columns of its own, and shows the time itself, not an age.
    columns=(Column("Created At", "metadata.creationTimestamp"),),
)
