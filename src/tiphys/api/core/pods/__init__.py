"""Pod: containers that run together on one node. Here the life of a pod begins, and every step of it is written down.

Before it: kubectl or a controller sends the object. After it: the store holds a sound, defaulted pod without a node, and the
scheduler hears of it.
"""

from tiphys.api.core.pods.columns import COLUMNS
from tiphys.api.core.pods.defaults import default
from tiphys.api.core.pods.ephemeral import prepare_ephemeral_containers, validate_ephemeral_containers
from tiphys.api.core.pods.prepare import prepare_create, prepare_status, prepare_update
from tiphys.api.core.pods.resize import prepare_resize, validate_resize
from tiphys.api.core.pods.status import validate_status
from tiphys.api.core.pods.update import validate_update
from tiphys.api.core.pods.validate import validate_create
from tiphys.api.core.pods.warnings import create_warnings
from tiphys.api.kind import SPEC, Kind, Part, Strategy
from tiphys.machinery.tree import Obj

__all__ = ["PODS"]


def _host_network(pod: Obj) -> str:
    return "true" if pod["spec"].get("hostNetwork") else "false"


def _pod_ip(pod: Obj) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") or "") if addresses else ""


PODS = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    singular="pod",
    short=("po",),
    categories=("all",),
    schema="io.k8s.api.core.v1.Pod",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    # An update is judged by what the old pod is forgiven, so there is no check that does not know it.
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=create_warnings,
    parts={
        "ephemeralcontainers": Part(prepare_ephemeral_containers, validate_ephemeral_containers),
        "resize": Part(prepare_resize, validate_resize),
    },
    strategy=Strategy(status=True, graceful=True, returns_deleted=True, generation_of=SPEC),
    selectable=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    field_of={"spec.hostNetwork": _host_network, "status.podIP": _pod_ip, "status.podIPs": _pod_ip},
    columns=COLUMNS,
    subresources=(
        "attach",
        "binding",
        "ephemeralcontainers",
        "eviction",
        "exec",
        "log",
        "portforward",
        "proxy",
        "resize",
        "status",
    ),
)
