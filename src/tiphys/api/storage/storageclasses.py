"""StorageClass: a kind of volume that claims can ask for, and who makes it."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.node.labels import deprecated_label
from tiphys.api.storage.names import validate_parameters, validate_provisioner
from tiphys.machinery.fields import FieldError, child, duplicate, index, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import immutable, label_name

RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default(storage_class: Obj) -> None:
    storage_class.setdefault("provisioner", "")
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def validate(storage_class: Obj) -> Iterator[FieldError]:
    yield from validate_provisioner(storage_class.get("provisioner", ""), "provisioner")
    yield from validate_parameters(storage_class.get("parameters"), "parameters", may_be_empty=True)
    policy = storage_class.get("reclaimPolicy")
    if policy and policy not in RECLAIM_POLICIES:
        yield not_supported("reclaimPolicy", policy, RECLAIM_POLICIES)
    mode = storage_class.get("volumeBindingMode")
    if mode is None:
        yield required("volumeBindingMode")
    elif mode not in BINDING_MODES:
        yield not_supported("volumeBindingMode", mode, BINDING_MODES)
    yield from _validate_topologies(storage_class.get("allowedTopologies") or [], "allowedTopologies")


def _validate_topologies(terms: list[Obj], at: str) -> Iterator[FieldError]:
    seen: list[dict[str, set[str]]] = []
    for position, term in enumerate(terms):
        where = child(index(at, position), "matchLabelExpressions")
        expressions = term.get("matchLabelExpressions") or []
        found: dict[str, set[str]] = {}
        for number, expression in enumerate(expressions):
            here, key, values = index(where, number), expression.get("key", ""), expression.get("values") or []
            yield from _validate_expression(key, values, here)
            if key in found:
                yield duplicate(child(here, "key"), key)
            found[key] = set(values)
        yield from (duplicate(where, "") for earlier in seen if earlier == found)
        seen.append(found)


def _validate_expression(key: str, values: list[str], at: str) -> Iterator[FieldError]:
    where = child(at, "values")
    if not values:
        yield required(where)
    for number, value in enumerate(values):
        if value in values[:number]:
            yield duplicate(index(where, number), value)
    yield from label_name(key, child(at, "key"))


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from immutable(new.get(name), old.get(name), name)


def warnings(new: Obj, _old: Obj | None) -> Iterable[str]:
    for position, term in enumerate(new.get("allowedTopologies") or ()):
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            told = deprecated_label(expression.get("key", ""))
            if told:
                yield f"allowedTopologies[{position}].matchLabelExpressions[{number}].key: {told}"


def is_default(storage_class: Obj) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(name) == "true" for name in IS_DEFAULT)


def _name(storage_class: Obj, _now: float) -> str:
    name: str = storage_class["metadata"].get("name", "")
    return f"{name} (default)" if is_default(storage_class) else name


STORAGECLASSES = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    plural="storageclasses",
    singular="storageclass",
    short=("sc",),
    namespaced=False,
    schema="io.k8s.api.storage.v1.StorageClass",
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(returns_deleted=True),
    columns=(
        Column("Name", _name, format="name"),
        Column("Provisioner", lambda each, _now: each.get("provisioner", "")),
        Column("ReclaimPolicy", lambda each, _now: each.get("reclaimPolicy", "Delete")),
        Column("VolumeBindingMode", lambda each, _now: each.get("volumeBindingMode", "Immediate")),
        Column("AllowVolumeExpansion", lambda each, _now: each.get("allowVolumeExpansion", False)),
        AGE,
    ),
)
