"""What a claim asks for, read once for all nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiphys.machinery import quantity
from tiphys.machinery.cel import Trouble, Unsound
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.capacity import is_enough
from tiphys.scheduler.devices.device import Device
from tiphys.scheduler.devices.ledger import Ledger

MOST = 32
"""Devices a claim."""
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """One request, or one of its alternatives."""

    request: str
    alternative: str
    tree: Obj
    device_class: Obj
    selectors: tuple[tuple[str, str], ...]
    """Expressions, and how a mistake in each is told."""
    asked: Mapping[str, Quantity]
    """Of capacities."""
    whole: bool
    """All devices that there are, or none."""
    count: int
    looks_only: bool
    """With administrator's access, at devices that others may have."""

    @property
    def name(self) -> str:
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def own_name(self) -> str:
        return self.alternative or self.request

    def selects(self, device: Device) -> bool:
        """Raises ValueError where a claim or a class makes no sense."""
        for expression, told in self.selectors:
            try:
                if not device.selected_by(expression):
                    return False
            except Unsound as problem:
                raise ValueError(f"{told}: CEL compile error: {problem}") from problem
            except Trouble as problem:
                raise ValueError(f"{told}: CEL runtime error: {problem}") from problem
        return True

    def is_kept_away(self, device: Device) -> bool:
        taints = device.tree.get("taints")
        return any(not self._tolerates(each) for each in taints) if taints else False

    def _tolerates(self, taint: Obj) -> bool:
        if taint.get("effect") not in _KEEPS_AWAY:
            return True
        return any(
            each.get("effect") in (None, "", taint["effect"])
            and each.get("key") in (None, "", taint["key"])
            and (each.get("operator") == "Exists" or (each.get("value") or "") == (taint.get("value") or ""))
            for each in self.tree.get("tolerations") or ()
        )

    def is_enough(self, device: Device, ledger: Ledger, about_to: Mapping[str, int]) -> bool:
        if not device.capacities and not self.asked:
            return True
        return is_enough(device.capacities, self.asked, ledger.used(device.id), about_to)


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """A claim. Each request has one choice, or several, the best first."""

    tree: Obj
    requests: tuple[tuple[Wanted, ...], ...]
    constraints: Sequence[Obj]

    @property
    def name(self) -> str:
        return f"{self.tree['metadata']['namespace']}/{self.tree['metadata']['name']}"


def asking(claim: Obj, classes: Mapping[str, Obj]) -> Asking:
    """Raises ValueError where a class is not there."""
    devices = claim["spec"].get("devices") or {}
    name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
    requests = tuple(tuple(_choices(each, name, classes)) for each in devices.get("requests") or ())
    return Asking(claim, requests, devices.get("constraints") or ())


def _choices(request: Obj, claim: str, classes: Mapping[str, Obj]) -> Iterator[Wanted]:
    if request.get("firstAvailable"):
        for each in request["firstAvailable"]:
            yield _wanted(request["name"], each["name"], each, claim, classes)
    else:
        yield _wanted(request["name"], "", request.get("exactly") or {}, claim, classes)


def _wanted(request: str, alternative: str, tree: Obj, claim: str, classes: Mapping[str, Obj]) -> Wanted:
    title = tree["deviceClassName"]
    device_class = classes.get(title)
    if device_class is None:
        told = f'could not retrieve device class {title}: deviceclass.resource.k8s.io "{title}" not found'
        raise ValueError(f"claim {claim}, request {alternative or request}: {told}")
    of_class = (device_class.get("spec") or {}).get("selectors") or ()
    selectors = [(each["cel"]["expression"], f"class {title}: selector #{at}") for at, each in enumerate(of_class)]
    own = enumerate(tree.get("selectors") or ())
    selectors += [(each["cel"]["expression"], f"claim {claim}: selector #{at}") for at, each in own]
    asked = (tree.get("capacity") or {}).get("requests") or {}
    return Wanted(
        request,
        alternative,
        tree,
        device_class,
        tuple(selectors),
        {name: quantity.parse(amount) for name, amount in asked.items()},
        tree.get("allocationMode") == "All",
        tree.get("count") or 1,
        bool(tree.get("adminAccess")),
    )
