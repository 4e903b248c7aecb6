"""MutatingAdmissionPolicy: CEL expressions that change a write."""

from collections.abc import Iterator

from tiphys.api.admissionregistration.policies import (
    default_policy,
    policy_columns,
    validate_policy_expressions,
    validate_policy_head,
)
from tiphys.api.admissionregistration.rules import (
    GROUP,
    REINVOCATION_POLICIES,
    static_suffix_warnings,
    validate_mutating_operations,
)
from tiphys.api.kind import SPEC, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj

_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def validate(policy: Obj) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from validate_policy_head(spec)
    yield from validate_mutating_operations(spec.get("matchConstraints"), "spec.matchConstraints")
    yield from validate_policy_expressions(spec)
    mutations = spec.get("mutations") or ()
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    for position, mutation in enumerate(mutations):
        yield from _validate_mutation(mutation, index("spec.mutations", position))
    again = spec.get("reinvocationPolicy", "")
    if not again:
        yield required("spec.reinvocationPolicy")
    elif again not in REINVOCATION_POLICIES:
        yield not_supported("spec.reinvocationPolicy", again, REINVOCATION_POLICIES)


def _validate_mutation(mutation: Obj, at: str) -> Iterator[FieldError]:
    patch_type = mutation.get("patchType", "")
    if not patch_type:
        yield required(child(at, "patchType"))
        return
    field = _PATCHES.get(patch_type)
    if field is None:
        yield not_supported(child(at, "patchType"), patch_type, tuple(_PATCHES))
        return
    patch = mutation.get(field)
    if patch is None:
        yield required(child(at, field), f"must be specified when patchType is {patch_type}")
    elif not patch.get("expression", "").strip():
        yield required(child(at, field, "expression"))
    other = next(each for each in _PATCHES.values() if each != field)
    if mutation.get(other) is not None:
        yield invalid(child(at, other), f"{{{other}}}", f"must not be specified when patchType is {patch_type}")


MUTATING_ADMISSION_POLICIES = Kind(
    group=GROUP,
    version="v1",
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    singular="mutatingadmissionpolicy",
    schema="io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy",
    namespaced=False,
    categories=("api-extensions",),
    default=default_policy,
    validate=validate,
    warnings=static_suffix_warnings,
    strategy=Strategy(generation_of=SPEC, unconditional_update=False),
    columns=policy_columns(
        "Mutations", "mutations", "Mutation indicates the number of mutations rules defined in this configuration"
    ),
)
