"""The columns that -o wide adds to the table of a workload."""

from tiphys.api.kind import Column
from tiphys.machinery.tree import Obj, get


def _joined(workload: Obj, field: str) -> str:
    containers = get(workload, ("spec", "template", "spec", "containers"), ())
    return ",".join(container.get(field) or "" for container in containers)


def container_names(workload: Obj, _now: float) -> str:
    return _joined(workload, "name")


def container_images(workload: Obj, _now: float) -> str:
    return _joined(workload, "image")


COLUMNS = (
    Column("Containers", container_names, wide=True, description="Names of each container in the template."),
    Column("Images", container_images, wide=True, description="Images referenced by each container in the template."),
)
