"""What is written where a bootstrap object is there already."""

import pytest

from tiphys.apiserver.bootstrap import flow_control, rbac_policy
from tiphys.apiserver.bootstrap.reconcile import binding_change, flow_control_change, role_change


def expected_role(name="view"):
    return next(role for role in rbac_policy.cluster_roles() if role["metadata"]["name"] == name)


def with_metadata(obj, **fields):
    return {**obj, "metadata": {**obj["metadata"], **fields}}


# v1.36.4 staging/src/k8s.io/component-helpers/auth/rbac/reconciliation/reconcile_role.go:185
@pytest.mark.parametrize("role", rbac_policy.cluster_roles(), ids=lambda role: role["metadata"]["name"])
def test_an_equal_role_is_left_alone(role):
    assert role_change(role, role) is None


def test_an_absent_role_is_created():
    role = expected_role()
    change = role_change(role, None)
    assert change is not None
    assert change.action == "create"
    assert change.obj == role


def test_missing_rules_are_added_and_extra_ones_stay():
    expected = expected_role("system:node-proxier")
    extra = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}
    existing = {**expected, "rules": [*expected["rules"][1:], extra]}
    change = role_change(expected, existing)
    assert change is not None
    assert change.obj["rules"][: len(existing["rules"])] == existing["rules"]
    assert role_change(expected, change.obj) is None


def test_labels_that_somebody_changed_stay_and_missing_ones_come_back():
    expected = expected_role("cluster-admin")
    existing = with_metadata(expected, labels={"mine": "yes"})
    change = role_change(expected, existing)
    assert change is not None
    assert change.obj["metadata"]["labels"] == {"mine": "yes", "kubernetes.io/bootstrapping": "rbac-defaults"}


def test_a_role_that_opted_out_is_left_alone():
    expected = expected_role("cluster-admin")
    existing = with_metadata({**expected, "rules": []}, annotations={rbac_policy.AUTOUPDATE: "false"})
    assert role_change(expected, existing) is None


def test_a_missing_aggregation_selector_is_added():
    expected = expected_role("edit")
    other = {"matchLabels": {"mine": "yes"}}
    change = role_change(expected, {**expected, "aggregationRule": {"clusterRoleSelectors": [other]}})
    assert change is not None
    selectors = change.obj["aggregationRule"]["clusterRoleSelectors"]
    assert selectors == [other, *expected["aggregationRule"]["clusterRoleSelectors"]]


# v1.36.4 staging/src/k8s.io/component-helpers/auth/rbac/reconciliation/reconcile_rolebindings.go:160
def test_a_binding_to_another_role_is_made_anew():
    expected = rbac_policy.cluster_role_bindings()[0]
    existing = {**expected, "roleRef": {**expected["roleRef"], "name": "other"}}
    change = binding_change(expected, existing)
    assert change is not None
    assert change.action == "recreate"


def test_missing_subjects_are_added_and_extra_ones_stay():
    expected = rbac_policy.cluster_role_bindings()[0]
    mine = {"kind": "User", "apiGroup": rbac_policy.GROUP, "name": "me"}
    change = binding_change(expected, {**expected, "subjects": [mine]})
    assert change is not None
    assert change.obj["subjects"] == [mine, *expected["subjects"]]
    assert binding_change(expected, change.obj) is None


def flow(name):
    found = next(each for each in flow_control.flow_schemas("2026-01-02T03:04:05Z") if each["metadata"]["name"] == name)
    return with_metadata(found, generation=1)


# v1.36.4 pkg/registry/flowcontrol/ensurer/strategy.go:158
@pytest.mark.parametrize(
    ("name", "annotations", "generation", "restored"),
    [
        ("exempt", {flow_control.AUTOUPDATE: "false"}, 7, True),
        ("probes", {flow_control.AUTOUPDATE: "true"}, 7, True),
        ("probes", {flow_control.AUTOUPDATE: "false"}, 1, False),
        ("probes", {}, 1, True),
        ("probes", {}, 2, False),
    ],
)
def test_a_changed_suggestion_stays_once_somebody_has_taken_it_over(name, annotations, generation, restored):
    expected = flow(name)
    changed = {**expected["spec"], "matchingPrecedence": 77}
    existing = with_metadata({**expected, "spec": changed}, annotations=annotations, generation=generation)
    change = flow_control_change(expected, existing)
    spec = existing["spec"] if change is None else change.obj["spec"]
    assert (spec == expected["spec"]) is restored
    if change is not None:
        assert flow_control_change(expected, change.obj) is None


def test_the_exempt_levels_numbers_belong_to_the_operator():
    expected = next(each for each in flow_control.priority_levels() if each["metadata"]["name"] == "exempt")
    spec = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5, "lendablePercent": 10}}
    assert flow_control_change(expected, {**expected, "spec": spec}) is None
