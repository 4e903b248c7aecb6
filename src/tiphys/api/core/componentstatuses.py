"""ComponentStatus: the health of the control plane, computed when it is asked for. Deprecated, and never written."""

from tiphys.api.kind import Column, Kind
from tiphys.machinery.tree import Obj


def _healthy(status: Obj) -> Obj | None:
    conditions: list[Obj] = status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == "Healthy"), None)


def _status(status: Obj, _: float) -> str:
    condition = _healthy(status)
    if condition is None:
        return "Unknown"
    return "Healthy" if condition.get("status") == "True" else "Unhealthy"


def _message(status: Obj, _: float) -> str:
    return str((_healthy(status) or {}).get("message", ""))


def _error(status: Obj, _: float) -> str:
    return str((_healthy(status) or {}).get("error", ""))


COMPONENT_STATUSES = Kind(
    group="",
    version="v1",
    kind="ComponentStatus",
    plural="componentstatuses",
    singular="componentstatus",
    schema="io.k8s.api.core.v1.ComponentStatus",
    namespaced=False,
    short=("cs",),
    verbs=("get", "list"),
    deprecated="v1 ComponentStatus is deprecated in v1.19+",
    columns=(
        Column("Status", _status, description="Status of the component conditions"),
        Column("Message", _message, description="Message of the component conditions"),
        Column("Error", _error, description="Error of the component conditions"),
    ),
)
