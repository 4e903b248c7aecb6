"""ClusterRoleBinding: grants a ClusterRole to subjects everywhere."""

from tiphys.api.kind import Kind, Problems, Strategy
from tiphys.api.rbac.rules import GROUP, binding_columns, default_binding, validate_binding, validate_binding_update
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import path_segment


def validate(binding: Obj) -> Problems:
    return validate_binding(binding, role_kinds=("ClusterRole",), namespaced=False)


CLUSTER_ROLE_BINDINGS = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    singular="clusterrolebinding",
    schema="io.k8s.api.rbac.v1.ClusterRoleBinding",
    namespaced=False,
    default=default_binding,
    validate=validate,
    validate_update=validate_binding_update,
    name=path_segment,
    strategy=Strategy(create_on_update=True),
    columns=binding_columns("clusterRoleBinding"),
)
