"""The usage of one object, by quota name: `requests.cpu`, `count/deployments.apps`, `services.nodeports`, ..."""

from collections.abc import Callable, Iterable, Mapping

from tiphys.api.core.pods import facts
from tiphys.api.core.services import traits
from tiphys.api.kind import Kind
from tiphys.machinery import quantity, times
from tiphys.machinery.errors import qualified
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj, get

Amounts = dict[str, Quantity]

ONE = quantity.from_int(1)
BY_CLASS = ".storageclass.storage.k8s.io/"
BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"

_ALIASES = {
    ("", "configmaps"): "configmaps",
    ("", "resourcequotas"): "resourcequotas",
    ("", "replicationcontrollers"): "replicationcontrollers",
    ("", "secrets"): "secrets",
}
"""Counted under their plain name, too."""

_POD_NAMES = frozenset(
    (
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
    )
)
_SERVICE_NAMES = frozenset(("services", "services.nodeports", "services.loadbalancers"))
_CLAIM_NAMES = frozenset(("persistentvolumeclaims", "requests.storage"))
_NATIVE_PREFIXES = ("hugepages-", "requests.hugepages-")


def count_name(kind: Kind) -> str:
    return f"count/{qualified(kind.plural, kind.group)}"


def of(kind: Kind, obj: Obj, now: float) -> Amounts:
    """Everything that the object uses, whether or not a quota limits it."""
    counted: Amounts = {count_name(kind): ONE}
    if (alias := _ALIASES.get((kind.group, kind.plural))) is not None:
        counted[alias] = ONE
    special = _SPECIAL.get((kind.group, kind.plural))
    if special is not None:
        counted.update(special(obj, now))
    return counted


def limited(kind: Kind, names: Iterable[str]) -> set[str]:
    """Those of `names` (of a quota's hard limits) that objects of this kind can use up."""
    own = {count_name(kind)}
    if (alias := _ALIASES.get((kind.group, kind.plural))) is not None:
        own.add(alias)
    concerns = _CONCERNS.get((kind.group, kind.plural))
    return {name for name in names if name in own or (concerns is not None and concerns(name))}


# --- pods ------------------------------------------------------------------------------------------------------------


def _pod(pod: Obj, now: float) -> Amounts:
    if facts.is_finished(pod) or _is_overdue(pod, now):
        return {}
    return container_usage(facts.effective_requests(pod), facts.effective_limits(pod))


def _is_overdue(pod: Obj, now: float) -> bool:
    """Stuck in deletion (its node is lost, perhaps): nobody is charged for it any more."""
    metadata = pod["metadata"]
    until, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return until is not None and grace is not None and now > times.parse(until) + grace


def container_usage(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Amounts:
    used: Amounts = {"pods": ONE}
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    return used


def is_extended(name: str) -> bool:
    """A resource of somebody's own domain: nvidia.com/gpu."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not name.startswith("requests.")


def _concerns_pod(name: str) -> bool:
    if name in _POD_NAMES or name.startswith(_NATIVE_PREFIXES):
        return True
    return name.startswith("requests.") and is_extended(name.removeprefix("requests."))


# --- services, claims ------------------------------------------------------------------------------------------------


def _service(service: Obj, _now: float) -> Amounts:
    kind, ports = service["spec"].get("type"), service["spec"].get("ports") or ()
    with_ports = 0
    if kind == "NodePort" or (kind == "LoadBalancer" and traits.needs_node_port(service)):
        with_ports = len(ports)
    elif kind == "LoadBalancer":
        with_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "services": ONE,
        "services.nodeports": quantity.from_int(with_ports),
        "services.loadbalancers": quantity.from_int(1 if kind == "LoadBalancer" else 0),
    }


def _claim(claim: Obj, _now: float) -> Amounts:
    name = get(claim, ("metadata", "annotations", "volume.beta.kubernetes.io/storage-class"))
    storage_class = name or claim["spec"].get("storageClassName") or ""
    used: Amounts = {"persistentvolumeclaims": ONE}
    asked = get(claim, ("spec", "resources", "requests", "storage"))
    if asked is not None:
        amount = quantity.parse(asked)
        allocated = get(claim, ("status", "allocatedResources", "storage"))
        if allocated is not None:
            amount = max(amount, quantity.parse(allocated))
        used["requests.storage"] = amount
    if storage_class:
        used.update({f"{storage_class}{BY_CLASS}{name}": amount for name, amount in tuple(used.items())})
    return used


def _concerns_claim(name: str) -> bool:
    return name in _CLAIM_NAMES or any(name.endswith(BY_CLASS + each) for each in _CLAIM_NAMES)


def _resource_claim(claim: Obj, _now: float) -> Amounts:
    used: dict[str, int] = {}
    for request in get(claim, ("spec", "devices", "requests")) or ():
        # Of alternatives the most expensive may be the one that is taken.
        choices = [request["exactly"]] if "exactly" in request else request.get("firstAvailable") or []
        most: dict[str, int] = {}
        for choice in choices:
            number = 32 if choice.get("allocationMode") == "All" else choice.get("count", 1)
            name = choice.get("deviceClassName", "") + BY_DEVICE_CLASS
            most[name] = max(most.get(name, 0), number)
        for name, number in most.items():
            used[name] = used.get(name, 0) + number
    return {name: quantity.from_int(number) for name, number in used.items()}


_SPECIAL: dict[tuple[str, str], Callable[[Obj, float], Amounts]] = {
    ("", "pods"): _pod,
    ("", "services"): _service,
    ("", "persistentvolumeclaims"): _claim,
    ("resource.k8s.io", "resourceclaims"): _resource_claim,
}

_CONCERNS: dict[tuple[str, str], Callable[[str], bool]] = {
    ("", "pods"): _concerns_pod,
    ("", "services"): _SERVICE_NAMES.__contains__,
    ("", "persistentvolumeclaims"): _concerns_claim,
    ("resource.k8s.io", "resourceclaims"): lambda name: name.endswith(BY_DEVICE_CLASS),
}
