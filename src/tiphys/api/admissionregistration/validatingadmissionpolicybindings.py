"""ValidatingAdmissionPolicyBinding: where a validating policy holds, with which parameters, and what a breach leads to."""

from collections.abc import Iterator

from tiphys.api.admissionregistration.policies import BINDING_COLUMNS, default_binding, validate_binding
from tiphys.api.admissionregistration.rules import GROUP, static_suffix_warnings
from tiphys.api.kind import SPEC, Kind, Strategy
from tiphys.machinery.fields import FieldError, duplicate, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj

ACTIONS = ("Audit", "Deny", "Warn")

_AT = "spec.validationActions"
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers "
    "serves no purpose)"
)


def validate(binding: Obj) -> Iterator[FieldError]:
    yield from validate_binding(binding)
    actions = (binding.get("spec") or {}).get("validationActions") or ()
    for position, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(index(_AT, position), action, ACTIONS)
        if action in actions[:position]:
            yield duplicate(index(_AT, position), action)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(_AT, actions, _BOTH)
    if not actions:
        yield required(_AT, "at least one validation action is required")


VALIDATING_ADMISSION_POLICY_BINDINGS = Kind(
    group=GROUP,
    version="v1",
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    singular="validatingadmissionpolicybinding",
    schema="io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    namespaced=False,
    categories=("api-extensions",),
    default=default_binding,
    validate=validate,
    warnings=static_suffix_warnings,
    strategy=Strategy(generation_of=SPEC, unconditional_update=False),
    columns=BINDING_COLUMNS,
)
