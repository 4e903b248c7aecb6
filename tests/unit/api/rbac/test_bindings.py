"""Bindings after their creation, and in tables."""

from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.rolebindings import ROLE_BINDINGS


def binding(role="a", **more):
    return {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}, **more}


# v1.36.4 pkg/apis/rbac/validation/validation.go:172
def test_the_role_of_a_binding_does_not_change():
    for kind in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        assert list(kind.validate_update(binding(), binding())) == []
        [problem] = kind.validate_update(binding("other"), binding())
        assert (
            str(problem) == 'roleRef: Invalid value: {"APIGroup":"","Kind":"ClusterRole","Name":"other"}: cannot change roleRef'
        )


# v1.36.4 pkg/printers/internalversion/printers.go:2253, pkg/apis/rbac/helpers.go:350
def test_columns():
    subjects = [
        {"kind": "User", "name": "u1"},
        {"kind": "Group", "name": "g"},
        {"kind": "User", "name": "u2"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
    ]
    shown = binding(subjects=subjects)
    cells = [column.value(shown, 0.0) for column in ROLE_BINDINGS.columns if callable(column.value)]
    assert cells == ["ClusterRole/a", "u1, u2", "g", "n/s"]
