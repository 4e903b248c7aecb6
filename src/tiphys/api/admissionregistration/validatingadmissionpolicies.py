"""ValidatingAdmissionPolicy: CEL expressions that a write must satisfy."""

from collections.abc import Iterator

from tiphys.api.admissionregistration.policies import (
    default_policy,
    policy_columns,
    validate_policy_expressions,
    validate_policy_head,
)
from tiphys.api.admissionregistration.rules import GROUP, static_suffix_warnings
from tiphys.api.admissionregistration.status import validate_policy_status
from tiphys.api.kind import SPEC, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import qualified_name

MAX_ANNOTATIONS = 20
MAX_ANNOTATION_EXPRESSION = 5 * 1024

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_EMPTY = "validations or auditAnnotations must contain at least one item"


def prepare_create(policy: Obj) -> None:
    policy["status"] = {}


def validate(policy: Obj) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from validate_policy_head(spec)
    yield from validate_policy_expressions(spec)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield required("spec.validations", _EMPTY)
        yield required("spec.auditAnnotations", _EMPTY)
    for position, validation in enumerate(validations):
        yield from _validate_validation(validation, index("spec.validations", position))
    if len(annotations) > MAX_ANNOTATIONS:
        told = f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, told)
    keys: set[str] = set()
    for position, annotation in enumerate(annotations):
        at = index("spec.auditAnnotations", position)
        yield from _validate_annotation(policy["metadata"].get("name", ""), annotation, at)
        key = annotation.get("key", "")
        if key in keys:
            yield duplicate(child(at, "key"), key)
        keys.add(key)


def _validate_validation(validation: Obj, at: str) -> Iterator[FieldError]:
    if not validation.get("expression", "").strip():
        yield required(child(at, "expression"), "expression is not specified")
    for field in ("messageExpression", "message"):
        text = validation.get(field, "")
        if text and not text.strip():
            yield invalid(child(at, field), text, "must be non-empty if specified")
    message = validation.get("message", "").strip()
    if "\n" in message or "\r" in message:
        yield invalid(child(at, "message"), validation["message"], "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(child(at, "reason"), reason, _REASONS)


def _validate_annotation(name: str, annotation: Obj, at: str) -> Iterator[FieldError]:
    key = annotation.get("key", "")
    if name:
        full = f"{name}/{key}"
        for told in qualified_name(full):
            yield invalid(child(at, "key"), full, told)
    else:
        yield invalid(child(at, "key"), key, "requires metadata.name be non-empty")
    expression = annotation.get("valueExpression", "").strip()
    if not expression:
        yield required(child(at, "valueExpression"), "valueExpression is not specified")
    elif len(expression.encode()) > MAX_ANNOTATION_EXPRESSION:
        yield required(child(at, "valueExpression"), f"must not exceed {MAX_ANNOTATION_EXPRESSION} bytes in length")


VALIDATING_ADMISSION_POLICIES = Kind(
    group=GROUP,
    version="v1",
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    singular="validatingadmissionpolicy",
    schema="io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
    namespaced=False,
    categories=("api-extensions",),
    default=default_policy,
    prepare_create=prepare_create,
    validate=validate,
    validate_status=validate_policy_status,
    warnings=static_suffix_warnings,
    strategy=Strategy(status=True, generation_of=SPEC, unconditional_update=False, status_keeps_metadata=True),
    columns=policy_columns(
        "Validations",
        "validations",
        "Validations indicates the number of validation rules defined in this configuration",
    ),
)
