"""Status and columns of admission policies and their bindings."""

import pytest

from tiphys.api.admissionregistration.mutatingwebhookconfigurations import MUTATING_WEBHOOK_CONFIGURATIONS
from tiphys.api.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES as POLICIES
from tiphys.api.admissionregistration.validatingadmissionpolicybindings import VALIDATING_ADMISSION_POLICY_BINDINGS as BINDINGS


def cells(kind, shown):
    return [column.value(shown, 0.0) for column in kind.columns if callable(column.value)]


# v1.36.4 pkg/apis/admissionregistration/validation/validation.go:1242
def test_status():
    condition = {"type": "", "status": "Maybe", "reason": "1", "observedGeneration": -1}
    warnings = [{"fieldRef": "spec.validations[0].expression", "warning": "w"}, {"fieldRef": " "}]
    status = {"conditions": [condition, condition], "typeChecking": {"expressionWarnings": warnings}}
    found = [str(each).partition(": ")[0] for each in POLICIES.validate_status({"status": status}, {})]
    fields = ["type", "type", "status", "observedGeneration", "lastTransitionTime", "reason"]
    assert found[:2] == [f"status.typeChecking.expressionWarnings[1].{field}" for field in ("warning", "fieldRef")]
    assert [each for each in found if "conditions[0]" in each] == [f"status.conditions[0].{field}" for field in fields]
    assert found[-7] == "status.conditions[1].type"
    good = {"type": "Ready", "status": "True", "reason": "Fine", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert list(POLICIES.validate_status({"status": {"conditions": [good]}}, {})) == []


# v1.36.4 pkg/printers/internalversion/printers.go:1802
@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"validations": [{}, {}]}, [2, "<unset>"]),
        ({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}, [0, "v1/ConfigMap"]),
    ],
)
def test_columns_of_a_policy(spec, shown):
    assert cells(POLICIES, {"spec": spec}) == shown


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (None, "<unset>"),
        ({"name": "a", "namespace": "n"}, "n/a"),
        ({"name": "a"}, "*/a"),
        (
            {"selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
    ],
)
def test_columns_of_a_binding(reference, shown):
    assert cells(BINDINGS, {"spec": {"paramRef": reference}}) == [shown]


# v1.36.4 pkg/apis/admissionregistration/validation/static_suffix.go:44
def test_names_that_are_reserved_are_warned_of():
    [warning] = MUTATING_WEBHOOK_CONFIGURATIONS.warnings({"metadata": {"name": "a.static.k8s.io"}}, None)
    assert warning.startswith('metadata.name: names ending with ".static.k8s.io" are reserved')
    assert list(MUTATING_WEBHOOK_CONFIGURATIONS.warnings({"metadata": {"name": "a"}}, None)) == []
