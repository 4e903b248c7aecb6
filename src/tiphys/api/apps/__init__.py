"""apps/v1: the kinds that keep pods running."""

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (CONTROLLERREVISIONS, DAEMONSETS, DEPLOYMENTS, REPLICASETS, STATEFULSETS)
