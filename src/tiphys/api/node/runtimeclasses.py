"""RuntimeClass: a way to run containers that some nodes offer, what it costs, and where to find it."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.node.labels import deprecated_label
from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.options import STRICT
from tiphys.api.pod_template.requirements import validate_container_requirements
from tiphys.api.pod_template.scheduling import validate_tolerations
from tiphys.machinery.fields import FieldError, duplicate, index, invalid, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_label, immutable, labels


def default(runtime_class: Obj) -> None:
    runtime_class.setdefault("handler", "")


def validate(runtime_class: Obj) -> Iterator[FieldError]:
    handler = runtime_class.get("handler", "")
    if not handler:
        yield required("handler")
    for problem in dns1123_label(handler) if handler else ():
        yield invalid("handler", handler, problem)
    overhead, scheduling = runtime_class.get("overhead"), runtime_class.get("scheduling") or {}
    if overhead is not None:
        limits = {"limits": overhead.get("podFixed") or {}}
        yield from validate_container_requirements(limits, frozenset(), "overhead", STRICT)
    yield from labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or []
    yield from validate_tolerations(tolerations, "scheduling.tolerations", STRICT)
    seen: list[Obj] = []
    for position, toleration in enumerate(tolerations):
        key = {name: toleration.get(name, "") for name in ("key", "operator", "value", "effect")}
        if key in seen:
            yield duplicate(index("scheduling.tolerations", position), told(toleration, "Toleration"))
        seen.append(key)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from immutable(new.get("handler", ""), old.get("handler", ""), "handler")


def warnings(new: Obj, _old: Obj | None) -> Iterable[str]:
    for key in (new.get("scheduling") or {}).get("nodeSelector") or {}:
        problem = deprecated_label(key)
        if problem:
            yield f"scheduling.nodeSelector: {problem}"


RUNTIMECLASSES = Kind(
    group="node.k8s.io",
    version="v1",
    kind="RuntimeClass",
    plural="runtimeclasses",
    singular="runtimeclass",
    namespaced=False,
    schema="io.k8s.api.node.v1.RuntimeClass",
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(create_on_update=True, unconditional_update=False),
    columns=(Column("Handler", lambda each, _now: each.get("handler", "")), AGE),
)
