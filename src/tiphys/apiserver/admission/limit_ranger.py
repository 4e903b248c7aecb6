"""LimitRanger: containers get the namespace's default requests and limits, and stay within its bounds."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tiphys.api.core.pods import facts
from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes, Resources
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj, get

ANNOTATION = "kubernetes.io/limit-ranger"

Amounts = Mapping[str, Quantity]


class LimitRanger:
    name = "LimitRanger"
    operations = CREATE_UPDATE
    resources: Resources = frozenset((("", "pods"), ("", "persistentvolumeclaims")))

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.operation != "CREATE" or not attributes.concerns("", "pods"):
            return
        for limits in await self._limits(attributes):
            _set_defaults(limits, attributes.obj)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.obj is None or not _is_checked(attributes):
            return
        for limits in await self._limits(attributes):
            problems = [each for limit in limits["spec"].get("limits") or () for each in _problems(limit, attributes)]
            if problems:
                raise attributes.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _limits(self, attributes: Attributes) -> Iterator[Obj]:
        return await self._lookup.all("limitranges", attributes.namespace)


def _is_checked(attributes: Attributes) -> bool:
    if attributes.old is not None and "deletionTimestamp" in attributes.old["metadata"]:
        return False
    if attributes.concerns("", "persistentvolumeclaims"):
        return True
    if attributes.kind.plural != "pods" or attributes.kind.group:
        return False
    return attributes.subresource == ("" if attributes.operation == "CREATE" else "resize")


def _set_defaults(limits: Obj, pod: Obj) -> None:
    requests: dict[str, str] = {}
    maxima: dict[str, str] = {}
    for limit in limits["spec"].get("limits") or ():
        if limit["type"] == "Container":
            requests.update(limit.get("defaultRequest") or {})
            maxima.update(limit.get("default") or {})
    told = [
        *(
            each
            for container in pod["spec"].get("containers") or ()
            for each in _complete(container, requests, maxima, "container")
        ),
        *(
            each
            for container in pod["spec"].get("initContainers") or ()
            for each in _complete(container, requests, maxima, "init container")
        ),
    ]
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(told)


def _complete(container: Obj, requests: Mapping[str, str], maxima: Mapping[str, str], word: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for part, defaults, said in (("requests", requests, "request"), ("limits", maxima, "limit")):
        present = resources.get(part) or {}
        missing = sorted(name for name in defaults if name not in present)
        if missing:
            resources = {**resources, part: {**present, **{name: defaults[name] for name in missing}}}
            container["resources"] = resources
            yield f"{', '.join(missing)} {said} for {word} {container['name']}"


def _problems(limit: Obj, attributes: Attributes) -> Iterator[str]:
    assert attributes.obj is not None
    obj, kind = attributes.obj, limit["type"]
    if attributes.kind.plural == "persistentvolumeclaims":
        if kind == "PersistentVolumeClaim":
            requests = _parsed(get(obj, ("spec", "resources", "requests")))
            yield from _each(limit, "min", lambda name, bound: _below(kind, name, bound, requests, {}))
            yield from _each(limit, "max", lambda name, bound: _asks_above(kind, name, bound, requests))
        return
    if kind == "Container":
        for container in (*(obj["spec"].get("containers") or ()), *(obj["spec"].get("initContainers") or ())):
            resources = container.get("resources") or {}
            yield from _bounds(limit, _parsed(resources.get("requests")), _parsed(resources.get("limits")))
    elif kind == "Pod":
        yield from _bounds(limit, facts.requests(obj, overhead=False), facts.limits(obj, overhead=False))


def _bounds(limit: Obj, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    yield from _each(limit, "min", lambda name, bound: _below(kind, name, bound, requests, limits))
    yield from _each(limit, "max", lambda name, bound: _above(kind, name, bound, requests, limits))
    yield from _each(limit, "maxLimitRequestRatio", lambda name, bound: _ratio(kind, name, bound, requests, limits))


def _each(limit: Obj, part: str, check: Callable[[str, Quantity], str]) -> Iterator[str]:
    for name, bound in _parsed(limit.get(part)).items():
        if problem := check(name, bound):
            yield problem


def _parsed(amounts: Any) -> dict[str, Quantity]:
    return {name: quantity.parse(value) for name, value in (amounts or {}).items()}


def _below(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{told}.  No request is specified"
    if requests[name] < bound:
        return f"{told}, but request is {requests[name]}"
    return f"{told}, but limit is {limits[name]}" if name in limits and limits[name] < bound else ""


def _asks_above(kind: str, name: str, bound: Quantity, requests: Amounts) -> str:
    told = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{told}.  No request is specified"
    return f"{told}, but request is {requests[name]}" if requests[name] > bound else ""


def _above(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        return f"{told}.  No limit is specified"
    if limits[name] > bound:
        return f"{told}, but limit is {limits[name]}"
    return f"{told}, but request is {requests[name]}" if name in requests and requests[name] > bound else ""


def _ratio(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    told = f"{name} max limit to request ratio per {kind} is {bound}"
    if name not in requests or not requests[name].sign():
        return f"{told}, but no request is specified or request is 0"
    if name not in limits or not limits[name].sign():
        return f"{told}, but no limit is specified or limit is 0"
    ratio = float(limits[name]) / float(requests[name])
    return f"{told}, but provided ratio is {ratio:f}" if ratio > float(bound) else ""
