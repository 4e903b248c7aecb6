"""The core group, v1: pods, what they need, and what they run on."""

from tiphys.api.core.bindings import BINDINGS
from tiphys.api.core.componentstatuses import COMPONENT_STATUSES
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.endpoints import ENDPOINTS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.limitranges import LIMIT_RANGES
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS
from tiphys.api.core.podtemplates import POD_TEMPLATES
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.services import SERVICES
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (
    BINDINGS,
    COMPONENT_STATUSES,
    CONFIG_MAPS,
    ENDPOINTS,
    EVENTS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    POD_TEMPLATES,
    REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
