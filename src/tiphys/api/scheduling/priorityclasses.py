"""PriorityClass: a name for a number that says which pods go first, and which may be pushed aside."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind
from tiphys.machinery.fields import FieldError, forbidden, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import immutable

SYSTEM_PREFIX = "system-"
HIGHEST_OF_USERS = 1_000_000_000
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
POLICIES = ("PreemptLowerPriority", "Never")


def default(priority_class: Obj) -> None:
    priority_class.setdefault("value", 0)
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def prepare_create(priority_class: Obj) -> None:
    priority_class["metadata"]["generation"] = 1


def validate_create(priority_class: Obj) -> Iterator[FieldError]:
    name, value = priority_class["metadata"].get("name", ""), priority_class["value"]
    if name.startswith(SYSTEM_PREFIX):
        problem = _not_a_system_class(name, value, priority_class.get("globalDefault", False))
        if problem:
            told = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            yield forbidden("metadata.name", told)
    elif value > HIGHEST_OF_USERS:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}")
    policy = priority_class.get("preemptionPolicy")
    if policy == "":
        yield required("preemptionPolicy")
    elif policy not in POLICIES:
        yield not_supported("preemptionPolicy", policy, POLICIES)


def _not_a_system_class(name: str, value: int, is_global_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_global_default else ""


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    yield from immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


PRIORITYCLASSES = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    singular="priorityclass",
    short=("pc",),
    namespaced=False,
    schema="io.k8s.api.scheduling.v1.PriorityClass",
    default=default,
    prepare_create=prepare_create,
    validate_create=validate_create,
    validate_update=validate_update,
    columns=(
        Column("Value", lambda each, _now: each.get("value", 0), type="integer"),
        Column("Global-Default", lambda each, _now: each.get("globalDefault", False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", lambda each, _now: each.get("preemptionPolicy", "")),
    ),
)
