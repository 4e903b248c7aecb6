"""MutatingAdmissionPolicyBinding: where a mutating policy holds, and with which parameters."""

from collections.abc import Iterator

from tiphys.api.admissionregistration.policies import BINDING_COLUMNS, default_binding, validate_binding
from tiphys.api.admissionregistration.rules import GROUP, static_suffix_warnings, validate_mutating_operations
from tiphys.api.kind import SPEC, Kind, Strategy
from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj


def validate(binding: Obj) -> Iterator[FieldError]:
    yield from validate_binding(binding)
    match = (binding.get("spec") or {}).get("matchResources")
    yield from validate_mutating_operations(match, "spec.matchResources")


MUTATING_ADMISSION_POLICY_BINDINGS = Kind(
    group=GROUP,
    version="v1",
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    singular="mutatingadmissionpolicybinding",
    schema="io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding",
    namespaced=False,
    categories=("api-extensions",),
    default=default_binding,
    validate=validate,
    warnings=static_suffix_warnings,
    strategy=Strategy(generation_of=SPEC, unconditional_update=False),
    columns=BINDING_COLUMNS,
)
