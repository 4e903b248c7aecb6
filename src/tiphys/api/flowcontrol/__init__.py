"""flowcontrol.apiserver.k8s.io/v1: which requests wait for which."""

from tiphys.api.flowcontrol.flowschemas import FLOW_SCHEMAS
from tiphys.api.flowcontrol.prioritylevelconfigurations import PRIORITY_LEVEL_CONFIGURATIONS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS)
