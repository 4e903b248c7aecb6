"""RoleBinding: grants a Role or a ClusterRole to subjects within one namespace."""

from tiphys.api.kind import Kind, Problems, Strategy
from tiphys.api.rbac.rules import GROUP, binding_columns, default_binding, validate_binding, validate_binding_update
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import path_segment


def validate(binding: Obj) -> Problems:
    return validate_binding(binding, role_kinds=("Role", "ClusterRole"), namespaced=True)


ROLE_BINDINGS = Kind(
    group=GROUP,
    version="v1",
    kind="RoleBinding",
    plural="rolebindings",
    singular="rolebinding",
    schema="io.k8s.api.rbac.v1.RoleBinding",
    default=default_binding,
    validate=validate,
    validate_update=validate_binding_update,
    name=path_segment,
    strategy=Strategy(create_on_update=True),
    columns=binding_columns("roleBinding"),
)
