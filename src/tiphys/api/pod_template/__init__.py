"""What pods and the templates of workloads have in common: defaults, validation, warnings, columns."""

from collections.abc import Iterator

from tiphys.api.pod_template.annotations import (
    DELETION_COST,
    parse_deletion_cost,
    validate_annotations,
    validate_fields_match,
)
from tiphys.api.pod_template.columns import COLUMNS
from tiphys.api.pod_template.defaults import default, default_spec
from tiphys.api.pod_template.features import drop_disabled
from tiphys.api.pod_template.options import STRICT
from tiphys.api.pod_template.spec import validate_spec
from tiphys.api.pod_template.tolerance import tolerated_by
from tiphys.api.pod_template.warnings import warnings
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, forbidden, not_supported
from tiphys.machinery.tree import Obj

__all__ = ["COLUMNS", "default", "default_spec", "prepare", "validate", "warnings"]


def prepare(template: Obj, old: Obj | None = None) -> None:
    """Before validation: drops the fields of features that are off. For prepare_create and prepare_update of workloads."""
    spec = template.get("spec")
    if spec:
        drop_disabled(spec, (old or {}).get("spec"))


def validate(
    template: Obj, at: str = "spec.template", restart_policy: str = "", old: Obj | None = None
) -> Iterator[FieldError]:
    """Problems of a PodTemplateSpec. `old` is the template it replaces: what was wrong with it already may stay wrong."""
    options = STRICT
    if old is not None:
        cost = ((old.get("metadata") or {}).get("annotations") or {}).get(DELETION_COST)
        options = tolerated_by(old.get("spec") or {}, any_deletion_cost=cost is not None and parse_deletion_cost(cost) is None)
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations")
    if metadata.get("labels"):
        yield from validators.labels(metadata["labels"], f"{at}.labels")
    if annotations:
        yield from validators.annotations(annotations, f"{at}.annotations")
        yield from validate_annotations(annotations, spec, f"{at}.annotations", options)
    yield from validate_spec(spec, f"{at}.spec", options)
    if annotations:
        yield from validate_fields_match(annotations, spec, f"{at}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{at}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
    policy = spec.get("restartPolicy") or ""
    if restart_policy and policy != restart_policy:
        yield not_supported(f"{at}.spec.restartPolicy", policy, (restart_policy,))
