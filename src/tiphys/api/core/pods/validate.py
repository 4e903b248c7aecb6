"""Which pods may be created. The rules that every pod spec keeps are those of the template."""

from collections.abc import Iterator

from tiphys.api.pod_template.annotations import validate_annotations, validate_fields_match
from tiphys.api.pod_template.containers import validate_image_spelling
from tiphys.api.pod_template.options import STRICT_POD, Options
from tiphys.api.pod_template.spec import validate_spec
from tiphys.machinery.fields import FieldError, forbidden
from tiphys.machinery.tree import Obj


def validate_pod(pod: Obj, options: Options = STRICT_POD) -> Iterator[FieldError]:
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations")
    if annotations:
        yield from validate_annotations(annotations, spec, "metadata.annotations", options)
    yield from validate_spec(spec, "spec", options, metadata)
    if spec.get("volumes") and not spec.get("serviceAccountName"):
        yield from _validate_tokens(spec["volumes"])
    for group in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(group) or ()):
            yield from validate_image_spelling(container, f"spec.{group}[{position}]")


def _validate_tokens(volumes: list[Obj]) -> Iterator[FieldError]:
    for position, volume in enumerate(volumes):
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                here = f"spec.volumes[{position}].projected.sources[{place}].serviceAccountToken"
                yield forbidden(here, "must not be specified when serviceAccountName is not set")


def validate_create(pod: Obj) -> Iterator[FieldError]:
    yield from validate_pod(pod)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    annotations = pod["metadata"].get("annotations")
    if annotations:
        yield from validate_fields_match(annotations, spec, "spec")
