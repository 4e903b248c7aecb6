"""NodeMetrics: what a node uses."""

from tiphys.api.kind import Column, Kind
from tiphys.api.metrics.definitions import GROUP, PACKAGE, VERSION

NODE_METRICS = Kind(
    group=GROUP,
    version=VERSION,
    kind="NodeMetrics",
    plural="nodes",
    schema=f"{PACKAGE}NodeMetrics",
    namespaced=False,
    verbs=("get", "list"),
    reported=True,
    columns=(Column("cpu", "usage.cpu"), Column("memory", "usage.memory"), Column("window", "window")),
)
