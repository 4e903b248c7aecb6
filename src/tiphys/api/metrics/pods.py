"""PodMetrics: what the containers of a pod use."""

from tiphys.api.kind import Column, Kind
from tiphys.api.metrics.definitions import GROUP, PACKAGE, VERSION
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj


def _nanocores(pod: Obj, _now: float) -> str:
    return f"{sum(quantity.parse(each['usage']['cpu']).scaled(-9) for each in pod['containers'])}n"


def _memory(pod: Obj, _now: float) -> str:
    return f"{sum(quantity.parse(each['usage']['memory']).value() for each in pod['containers']) // 1024}Ki"


POD_METRICS = Kind(
    group=GROUP,
    version=VERSION,
    kind="PodMetrics",
    plural="pods",
    schema=f"{PACKAGE}PodMetrics",
    verbs=("get", "list"),
    reported=True,
    columns=(Column("cpu", _nanocores), Column("memory", _memory), Column("window", "window")),
)
