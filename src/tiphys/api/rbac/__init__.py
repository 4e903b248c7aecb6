"""rbac.authorization.k8s.io/v1: who may do what."""

from tiphys.api.kind import Kind
from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.api.rbac.rolebindings import ROLE_BINDINGS
from tiphys.api.rbac.roles import ROLES

KINDS: tuple[Kind, ...] = (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES)
