"""Resources that a pod asks for by name, as it would those of a device plugin, and behind which a class of devices stands.

upstream staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go,
pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from collections.abc import Mapping, Sequence
from operator import is_

from tiphys.api import resources
from tiphys.api.core.pods import facts
from tiphys.machinery import quantity, times
from tiphys.machinery.tree import Obj

OF_CLASS = "deviceclass.resource.kubernetes.io/"
"""Every class stands behind the resource of this name and its own."""


class ClassesBehind:
    def __init__(self, classes: Mapping[str, Obj]) -> None:
        """`classes`: by name, kept up to date by somebody else."""
        self._classes = classes
        self._seen: list[Obj] = []
        self._behind: dict[str, Obj] = {}

    def get(self, resource: str) -> Obj | None:
        """The class behind it; of several that claim the name, the newest."""
        if not may_have_class(resource):
            return None
        now = list(self._classes.values())
        if len(now) != len(self._seen) or not all(map(is_, now, self._seen)):
            self._seen, self._behind = now, _behind(now)
        return self._behind.get(resource)


def may_have_class(resource: str) -> bool:
    return resources.is_extended(resource) or resource.startswith(OF_CLASS)


def _behind(classes: Sequence[Obj]) -> dict[str, Obj]:
    found: dict[str, Obj] = {}
    for each in sorted(classes, key=lambda each: (-_created(each), str(each["metadata"]["name"]))):
        found[OF_CLASS + each["metadata"]["name"]] = each
        if each["spec"].get("extendedResourceName"):
            found.setdefault(each["spec"]["extendedResourceName"], each)
    return found


def _created(of: Obj) -> float:
    text = of["metadata"].get("creationTimestamp")
    return times.parse(text) if text else 0.0


Asked = tuple[list[Obj], list[Obj]]
"""Requests of a claim; and for each container which of them are its."""


def requests(spec: Obj, classes: Mapping[str, str]) -> Asked:
    """What a claim must ask for that stands for these resources of a pod, of which the names of their classes are given.

    What containers that end before others start had may be used again by those."""
    asked: list[Obj] = []
    mappings: list[Obj] = []
    for resource in sorted(classes):
        more, of_containers = _of_resource(spec, resource, classes[resource])
        asked += more
        mappings += of_containers
    return sorted(asked, key=lambda each: str(each["name"])), mappings


def _of_resource(spec: Obj, resource: str, device_class: str) -> Asked:
    starters = spec.get("initContainers") or []
    containers = [*starters, *(spec.get("containers") or ())]
    passing = [at for at, each in enumerate(starters) if not facts.is_restartable(each)]
    lasting: list[Obj | None] = [None] * len(containers)
    of_lasting: list[Obj] = []
    for at, container in enumerate(containers):
        if at not in passing:
            lasting[at], told = _of_container(at, container, resource, device_class, ())
            of_lasting += told
    largest: Obj | None = None
    replaced: set[str] = set()
    of_passing: list[Obj] = []
    for at in passing:
        own, told = _of_container(at, containers[at], resource, device_class, lasting[at:])
        of_passing += told
        if own is not None:
            replaced.add(own["name"])
            if largest is None or largest["exactly"]["count"] < own["exactly"]["count"]:
                largest = own
    if largest is not None:
        # One after the other they make do with what the most demanding one gets.
        of_passing = [
            {**each, "requestName": largest["name"]} if each["requestName"] in replaced else each for each in of_passing
        ]
    return [each for each in (largest, *lasting) if each is not None], of_lasting + of_passing


def _of_container(
    at: int, container: Obj, resource: str, device_class: str, reusable: Sequence[Obj | None]
) -> tuple[Obj | None, list[Obj]]:
    wanted = (container.get("resources") or {}).get("requests") or {}
    count = quantity.parse(wanted[resource]).value() if resource in wanted else 0
    if not count:
        return None, []
    mappings: list[Obj] = []
    for each in reusable:
        if each is not None:
            count -= each["exactly"]["count"]
            mappings.append(_mapping(container, resource, each["name"]))
            if count <= 0:
                return None, mappings
    name = f"container-{at}-request-{sorted(wanted).index(resource)}"
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}, [*mappings, _mapping(container, resource, name)]


def _mapping(container: Obj, resource: str, request: str) -> Obj:
    return {"containerName": container["name"], "resourceName": resource, "requestName": request}
