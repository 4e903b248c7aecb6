"""The allocation of a claim, as it is written into its status."""

from collections.abc import Callable, Iterator, Sequence

from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.asking import Wanted
from tiphys.scheduler.devices.device import Device
from tiphys.scheduler.devices.giving import Given, OfClaim


def allocation(claim: OfClaim, node: str, new_uid: Callable[[], str]) -> Obj:
    devices: Obj = {"results": [_result(each, new_uid) for each in claim.given]}
    chosen = [choices[claim.chosen.get(at, 0)] for at, choices in enumerate(claim.asking.requests)]
    if settings := [*_of_classes(chosen), *_of_the_claim(claim.asking.tree, chosen)]:
        devices["config"] = settings
    selector = _nodes([each.device for each in claim.given], node)
    return {"devices": devices, **({"nodeSelector": selector} if selector is not None else {})}


def _result(given: Given, new_uid: Callable[[], str]) -> Obj:
    driver, pool, name = given.device.id
    told: Obj = {"request": given.wanted.name, "driver": driver, "pool": pool, "device": name}
    told |= {key: given.wanted.tree[key] for key in ("adminAccess", "tolerations") if given.wanted.tree.get(key)}
    conditions = ("bindingConditions", "bindingFailureConditions")
    told |= {key: given.device.tree[key] for key in conditions if given.device.tree.get(key)}
    if given.device.shared:
        told["shareID"] = new_uid()
        if given.portions:
            told["consumedCapacity"] = {name: str(amount) for name, amount in given.portions.items()}
    return told


def _of_classes(chosen: Sequence[Wanted]) -> list[Obj]:
    names: dict[str, list[str]] = {}
    classes: dict[str, Obj] = {}
    for each in chosen:
        title = each.device_class["metadata"]["name"]
        names.setdefault(title, []).append(each.name)
        classes[title] = each.device_class
    return [
        {"source": "FromClass", "requests": requests, **config}
        for title, requests in names.items()
        for config in (classes[title].get("spec") or {}).get("config") or ()
    ]


def _of_the_claim(claim: Obj, chosen: Sequence[Wanted]) -> Iterator[Obj]:
    """Settings for all requests; or for those that it names, or the alternatives that were taken, once for each."""
    for each in claim["spec"]["devices"].get("config") or ():
        names = each.get("requests")
        times = 1 if not names else sum(wanted.request in names or wanted.name in names for wanted in chosen)
        for _ in range(times):
            yield {"source": "FromClaim", **each}


def _nodes(devices: Sequence[Device], node: str) -> Obj | None:
    """Where such devices can be reached from; None: from everywhere."""
    fields: list[Obj] = []
    labels: list[Obj] = []
    for device in devices:
        place = device.place()
        if place.get("nodeName") or device.tree.get("bindsToNode"):
            only = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            return {"nodeSelectorTerms": [{"matchFields": only}]}
        for term in ((place.get("nodeSelector") or {}).get("nodeSelectorTerms") or ())[:1]:
            _join(fields, term.get("matchFields") or ())
            _join(labels, term.get("matchExpressions") or ())
    term = {key: listed for key, listed in (("matchFields", fields), ("matchExpressions", labels)) if listed}
    return {"nodeSelectorTerms": [term]} if term else None


def _join(into: list[Obj], more: Sequence[Obj]) -> None:
    for each in more:
        if not any(_is_same(each, other) for other in into):
            into.append(each)


def _is_same(one: Obj, other: Obj) -> bool:
    if (one["key"], one["operator"]) != (other["key"], other["operator"]):
        return False
    return set(one.get("values") or ()) == set(other.get("values") or ())
