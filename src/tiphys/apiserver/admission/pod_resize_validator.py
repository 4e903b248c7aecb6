"""PodResizeValidator: a running pod does not grow beyond what its node has."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.apiserver.admission.chain import PODS, UPDATE, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import quantity
from tiphys.machinery.errors import ApiError, Details
from tiphys.machinery.tree import Obj, get

OS_LABEL = "kubernetes.io/os"
_ZERO = quantity.from_int(0)


class PodResizeValidator:
    name = "PodResizeValidator"
    operations = UPDATE
    resources = PODS

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.obj, attributes.old
        if attributes.subresource != "resize" or new is None or old is None:
            return
        node_name = new["spec"].get("nodeName")
        if not node_name or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = self._lookup.get("minions", node_name)
        if node is None:
            raise attributes.forbidden(f'node "{node_name}" not found')
        system = (node["metadata"].get("labels") or {}).get(OS_LABEL, "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{node_name}" is "{system}"'
            raise _refusal(attributes, why, "UnsupportedPlatform")
        short = list(_short(new, node))
        if short:
            why = f"node didn't have enough allocatable resources: {'; '.join(short)}"
            raise _refusal(attributes, why, "NodeCapacity")


def _short(pod: Obj, node: Obj) -> Iterator[str]:
    allocatable = get(node, ("status", "allocatable")) or {}
    requests = facts.requests(pod)
    cpu, has = requests.get("cpu", _ZERO), quantity.parse(allocatable.get("cpu", 0))
    if cpu > has:
        yield f"cpu, requested: {cpu.milli()}, allocatable: {has.milli()}"
    memory, has = requests.get("memory", _ZERO), quantity.parse(allocatable.get("memory", 0))
    if memory > has:
        yield f"memory, requested: {memory.value()}, allocatable: {has.value()}"


def _refusal(attributes: Attributes, why: str, reason: str) -> ApiError:
    refusal = attributes.forbidden(why)
    told = refusal.details or Details()
    refusal.details = Details(told.name, told.group, told.kind, causes=({"reason": reason},))
    return refusal
