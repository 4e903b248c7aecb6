"""Service: one name and address for many pods.

Addresses and node ports are allocated by the API server, between `prepare_*` and `validate`; what is exported besides the kind
tells it what to allocate.
"""

from tiphys.api.core.services.advice import warnings
from tiphys.api.core.services.columns import COLUMNS
from tiphys.api.core.services.families import default_families
from tiphys.api.core.services.preparing import default, prepare_create, prepare_update
from tiphys.api.core.services.traits import (
    is_externally_accessible,
    is_headless,
    may_have_node_ports,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_port,
    node_ports,
)
from tiphys.api.core.services.validation import validate, validate_status, validate_update
from tiphys.api.kind import Kind, Strategy
from tiphys.machinery.validators import dns1123_label

__all__ = [
    "SERVICES",
    "default_families",
    "is_externally_accessible",
    "is_headless",
    "may_have_node_ports",
    "needs_cluster_ip",
    "needs_health_check_port",
    "needs_node_port",
    "node_ports",
]

SERVICES = Kind(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    singular="service",
    schema="io.k8s.api.core.v1.Service",
    short=("svc",),
    categories=("all",),
    storage_prefix="services/specs",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    name=dns1123_label,
    strategy=Strategy(status=True, create_on_update=True, returns_deleted=True),
    selectable=("spec.clusterIP", "spec.type"),
    columns=COLUMNS,
    subresources=("proxy",),
)
