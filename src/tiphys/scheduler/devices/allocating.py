"""Which devices of a node the claims of a pod are given: the first that will do, and if that leads nowhere the next.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tiphys.machinery.cel import Trouble, Unsound, compiled
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.pools import Device, DeviceId, Expressible, Pool

_MOST = 32
"""Devices a claim."""
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


class OnThisNode(Exception):
    """Why the devices of one node cannot be given; others may."""


@dataclass(slots=True)
class _Given:
    device: Device
    request: str
    """With the name of the alternative that was taken, after a slash."""
    wanted: Obj


@dataclass(slots=True)
class _Claim:
    tree: Obj
    given: list[_Given] = field(default_factory=list)
    chosen: dict[str, int] = field(default_factory=dict)
    """By request: which of its alternatives."""

    @property
    def requests(self) -> Sequence[Obj]:
        return self.tree["spec"].get("devices", {}).get("requests") or ()

    @property
    def name(self) -> str:
        return f"{self.tree['metadata']['namespace']}/{self.tree['metadata']['name']}"


class Allocator:
    """For one pod and one node. Raises ValueError where a claim or a class makes no sense."""

    def __init__(self, pools: Sequence[Pool], taken: frozenset[DeviceId], classes: Mapping[str, Obj]) -> None:
        self._pools = pools
        self._devices = [device for pool in pools if not pool.invalid for device in pool.devices]
        self._seen = {device.id: Expressible(device) for device in self._devices}
        self._taken = set(taken)
        self._classes = classes
        self._claims: list[_Claim] = []
        self._suitable: dict[tuple[int, str], list[Device]] = {}

    def allocate(self, claims: Iterable[Obj], node: str) -> list[Obj] | None:
        """One allocation a claim; None if there are not enough devices. Raises OnThisNode."""
        self._claims = [_Claim(each) for each in claims]
        for each in self._claims:
            self._check(each)
        if not self._from(0):
            if any(pool.invalid for pool in self._pools):
                raise OnThisNode("invalid resource pools were encountered")
            return None
        return [self._result(each, node) for each in self._claims]

    def _check(self, claim: _Claim) -> None:
        for request in claim.requests:
            for name, wanted in _alternatives(request):
                if wanted.get("allocationMode") != "All":
                    continue
                for pool in self._pools:
                    if pool.incomplete or pool.invalid:
                        state = "invalid" if pool.invalid else "being updated"
                        told = f"asks for all devices, but resource pool {'/'.join(pool.name)} is currently {state}"
                        raise ValueError(f"claim {claim.name}, request {name.rpartition('/')[2]}: {told}")

    def _from(self, at: int) -> bool:
        return at == len(self._claims) or self._request(at, 0)

    def _request(self, at: int, number: int) -> bool:
        claim = self._claims[at]
        if number == len(claim.requests):
            return self._from(at + 1)
        request = claim.requests[number]
        for choice, (name, wanted) in enumerate(_alternatives(request)):
            suitable = self._candidates(at, name, wanted)
            whole = wanted.get("allocationMode") == "All"
            count = len(suitable) if whole else wanted.get("count") or 1
            if (whole and not suitable) or len(claim.given) + count > _MOST:
                continue
            if request.get("firstAvailable"):
                claim.chosen[request["name"]] = choice
            if self._give(at, number, _Search(name, wanted, suitable, whole), count, 0):
                return True
            claim.chosen.pop(request["name"], None)
        return False

    def _give(self, at: int, number: int, search: "_Search", left: int, start: int) -> bool:
        if not left:
            return self._request(at, number + 1)
        claim = self._claims[at]
        for place in range(start, len(search.suitable)):
            device = search.suitable[place]
            if not self._fits(claim, device, search):
                if search.whole:
                    return False
                continue
            looks_only = bool(search.wanted.get("adminAccess"))
            claim.given.append(_Given(device, search.name, search.wanted))
            if not looks_only:
                self._taken.add(device.id)
            if self._give(at, number, search, left - 1, place + 1):
                return True
            claim.given.pop()
            if not looks_only:
                self._taken.discard(device.id)
            if search.whole:
                return False
        return False

    def _fits(self, claim: _Claim, device: Device, search: "_Search") -> bool:
        if search.wanted.get("adminAccess"):
            if any(each.device.id == device.id for each in claim.given):
                return False
        elif device.id in self._taken:
            return False
        if any(not _tolerated(each, search.wanted) for each in device.tree.get("taints") or ()):
            return False
        constraints = claim.tree["spec"]["devices"].get("constraints") or ()
        return all(_allows(each, claim.given, device, search.name) for each in constraints)

    def _candidates(self, at: int, name: str, wanted: Obj) -> list[Device]:
        """Devices that the class and the request select, whoever has them."""
        found = self._suitable.get((at, name))
        if found is None:
            claim = self._claims[at]
            device_class = self._classes[wanted["deviceClassName"]]
            of_class = ((device_class.get("spec") or {}).get("selectors") or (), f"class {wanted['deviceClassName']}")
            selectors = (of_class, (wanted.get("selectors") or (), f"claim {claim.name}"))
            found = [each for each in self._devices if all(self._selects(listed, whose, each) for listed, whose in selectors)]
            self._suitable[at, name] = found
        return found

    def _selects(self, selectors: Iterable[Obj], whose: str, device: Device) -> bool:
        for number, each in enumerate(selectors):
            try:
                if compiled(each["cel"]["expression"])(self._seen[device.id].variables) is not True:
                    return False
            except Unsound as problem:
                raise ValueError(f"{whose}: selector #{number}: CEL compile error: {problem}") from problem
            except Trouble as problem:
                raise ValueError(f"{whose}: selector #{number}: CEL runtime error: {problem}") from problem
        return True

    def _result(self, claim: _Claim, node: str) -> Obj:
        results = []
        for each in claim.given:
            driver, pool, name = each.device.id
            told: Obj = {"request": each.request, "driver": driver, "pool": pool, "device": name}
            told |= {key: each.wanted[key] for key in ("adminAccess", "tolerations") if each.wanted.get(key)}
            results.append(told)
        devices: Obj = {"results": results}
        if settings := [*self._of_classes(claim), *_of_the_claim(claim)]:
            devices["config"] = settings
        selector = _nodes([each.device for each in claim.given], node)
        return {"devices": devices, **({"nodeSelector": selector} if selector is not None else {})}

    def _of_classes(self, claim: _Claim) -> list[Obj]:
        names: dict[str, list[str]] = {}
        for request in claim.requests:
            name, wanted = _alternatives(request)[claim.chosen.get(request["name"], 0)]
            names.setdefault(wanted["deviceClassName"], []).append(name)
        return [
            {"source": "FromClass", "requests": requests, **config}
            for name, requests in names.items()
            for config in (self._classes[name].get("spec") or {}).get("config") or ()
        ]


@dataclass(frozen=True, slots=True)
class _Search:
    name: str
    wanted: Obj
    suitable: Sequence[Device]
    whole: bool
    """All of them, or none."""


def _alternatives(request: Obj) -> list[tuple[str, Obj]]:
    if request.get("firstAvailable"):
        return [(f"{request['name']}/{each['name']}", each) for each in request["firstAvailable"]]
    return [(request["name"], request.get("exactly") or {})]


def _of_the_claim(claim: _Claim) -> list[Obj]:
    """Settings for all requests, or for some that are there, or for the alternatives that were taken."""
    names = {each["name"] for each in claim.requests}
    names |= {_alternatives(each)[claim.chosen.get(each["name"], 0)][0] for each in claim.requests}
    listed = claim.tree["spec"]["devices"].get("config") or ()
    return [{"source": "FromClaim", **each} for each in listed if not each.get("requests") or names & set(each["requests"])]


def _tolerated(taint: Obj, wanted: Obj) -> bool:
    if taint.get("effect") not in _KEEPS_AWAY:
        return True
    return any(
        each.get("effect") in (None, "", taint["effect"])
        and each.get("key") in (None, "", taint["key"])
        and (each.get("operator") == "Exists" or (each.get("value") or "") == (taint.get("value") or ""))
        for each in wanted.get("tolerations") or ()
    )


def _allows(constraint: Obj, given: Sequence[_Given], device: Device, request: str) -> bool:
    """Whether the device may join those that were given."""
    names = constraint.get("requests") or ()

    def concerns(name: str) -> bool:
        return not names or name in names or name.partition("/")[0] in names

    if not concerns(request):
        return True
    key = constraint.get("matchAttribute") or constraint.get("distinctAttribute") or ""
    mine = device.attribute(key)
    if mine is None:
        return False
    others = [each.device.attribute(key) for each in given if concerns(each.request)]
    return all(each == mine for each in others) if constraint.get("matchAttribute") else mine not in others


def _nodes(devices: Sequence[Device], node: str) -> Obj | None:
    """Where such devices can be reached from; None: from everywhere."""
    fields: list[Obj] = []
    labels: list[Obj] = []
    for place in (each.place() for each in devices):
        if place.get("nodeName"):
            only = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            return {"nodeSelectorTerms": [{"matchFields": only}]}
        for term in ((place.get("nodeSelector") or {}).get("nodeSelectorTerms") or ())[:1]:
            fields += [each for each in term.get("matchFields") or () if each not in fields]
            labels += [each for each in term.get("matchExpressions") or () if each not in labels]
    term = {key: listed for key, listed in (("matchFields", fields), ("matchExpressions", labels)) if listed}
    return {"nodeSelectorTerms": [term]} if term else None
