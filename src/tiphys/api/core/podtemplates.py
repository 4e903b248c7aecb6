"""PodTemplate: a template of pods kept for its own sake."""

from collections.abc import Iterator

from tiphys.api import pod_template
from tiphys.api.core import cells
from tiphys.api.kind import Column, Kind, Strategy
from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj, get


def default(obj: Obj) -> None:
    pod_template.default(obj.setdefault("template", {}))


def prepare_create(obj: Obj) -> None:
    pod_template.prepare(obj.get("template") or {})


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(new.get("template") or {}, old.get("template"))


def validate_create(obj: Obj) -> Iterator[FieldError]:
    yield from pod_template.validate(obj.get("template") or {}, "template")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from pod_template.validate(new.get("template") or {}, "template", old=old.get("template") or {})


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    template = new.get("template") or {}
    if old is None or template != old.get("template"):
        yield from pod_template.warnings(template.get("spec") or {}, template.get("metadata") or {}, "template")


def _joined(obj: Obj, part: str) -> str:
    containers: list[Obj] = get(obj, ("template", "spec", "containers"), [])
    return ",".join(each.get(part) or "" for each in containers)


def _containers(obj: Obj, _: float) -> str:
    return _joined(obj, "name")


def _images(obj: Obj, _: float) -> str:
    return _joined(obj, "image")


def _labels(obj: Obj, _: float) -> str:
    return cells.labels(get(obj, ("template", "metadata", "labels")))


POD_TEMPLATES = Kind(
    group="",
    version="v1",
    kind="PodTemplate",
    plural="podtemplates",
    singular="podtemplate",
    schema="io.k8s.api.core.v1.PodTemplate",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(generation_of=(("template",),), returns_deleted=True),
    columns=(
        Column("Containers", _containers, description="Names of each container in the template."),
        Column("Images", _images, description="Images referenced by each container in the template."),
        Column("Pod Labels", _labels, description="The labels for the pod template."),
    ),
)
