"""ClusterRole: rules that may be granted everywhere, or in one namespace; may be aggregated from others by label."""

from collections.abc import Iterator

from tiphys.api.kind import Kind, Strategy
from tiphys.api.rbac.rules import CREATED_AT, GROUP, default, validate_rules
from tiphys.machinery.fields import FieldError, index, invalid, required
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import path_segment


def validate(role: Obj) -> Iterator[FieldError]:
    yield from validate_rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    at = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        yield required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for position, selector in enumerate(selectors):
        problems = list(validate_label_selector(selector, index(at, position)))
        yield from problems
        if problems:
            yield invalid(index(at, position), None, "invalid label selector.")


CLUSTER_ROLES = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    singular="clusterrole",
    schema="io.k8s.api.rbac.v1.ClusterRole",
    namespaced=False,
    default=default,
    validate=validate,
    name=path_segment,
    strategy=Strategy(create_on_update=True),
    columns=(CREATED_AT,),
)
