"""Role: rules that a binding may grant within one namespace."""

from tiphys.api.kind import Kind, Problems, Strategy
from tiphys.api.rbac.rules import CREATED_AT, GROUP, default, validate_rules
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import path_segment


def validate(role: Obj) -> Problems:
    return validate_rules(role, namespaced=True)


ROLES = Kind(
    group=GROUP,
    version="v1",
    kind="Role",
    plural="roles",
    singular="role",
    schema="io.k8s.api.rbac.v1.Role",
    default=default,
    validate=validate,
    name=path_segment,
    strategy=Strategy(create_on_update=True),
    columns=(CREATED_AT,),
)
