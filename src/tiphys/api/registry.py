"""The one list of built-in kinds, in discovery order."""

from tiphys.api.admissionregistration import KINDS as ADMISSIONREGISTRATION
from tiphys.api.apiextensions import KINDS as APIEXTENSIONS
from tiphys.api.apiregistration import KINDS as APIREGISTRATION
from tiphys.api.apps import KINDS as APPS
from tiphys.api.authentication import KINDS as AUTHENTICATION
from tiphys.api.authorization import KINDS as AUTHORIZATION
from tiphys.api.autoscaling import KINDS as AUTOSCALING
from tiphys.api.batch import KINDS as BATCH
from tiphys.api.certificates import KINDS as CERTIFICATES
from tiphys.api.coordination import KINDS as COORDINATION
from tiphys.api.core import KINDS as CORE
from tiphys.api.discovery import KINDS as DISCOVERY
from tiphys.api.events import KINDS as EVENTS
from tiphys.api.flowcontrol import KINDS as FLOWCONTROL
from tiphys.api.kind import Kind
from tiphys.api.networking import KINDS as NETWORKING
from tiphys.api.node import KINDS as NODE
from tiphys.api.policy import KINDS as POLICY
from tiphys.api.rbac import KINDS as RBAC
from tiphys.api.resource import KINDS as RESOURCE
from tiphys.api.scheduling import KINDS as SCHEDULING
from tiphys.api.storage import KINDS as STORAGE

KINDS: tuple[Kind, ...] = (
    *CORE,
    *APIREGISTRATION,
    *APPS,
    *EVENTS,
    *AUTHENTICATION,
    *AUTHORIZATION,
    *AUTOSCALING,
    *BATCH,
    *CERTIFICATES,
    *NETWORKING,
    *POLICY,
    *RBAC,
    *STORAGE,
    *ADMISSIONREGISTRATION,
    *APIEXTENSIONS,
    *SCHEDULING,
    *COORDINATION,
    *NODE,
    *DISCOVERY,
    *RESOURCE,
    *FLOWCONTROL,
)
