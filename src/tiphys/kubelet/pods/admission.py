"""May this node run a pod that somebody has assigned to it? (pkg/kubelet/lifecycle/predicate.go and its neighbours)

The scheduler has asked the same before; but pods also come without it, and what it knew may have changed since. The words are
upstream's: they stand in the pod's status.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.api.core.pods import facts
from tiphys.api.resources import is_extended
from tiphys.kubelet.pods.resources import quality
from tiphys.machinery import quantity, selectors
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.selectors import Operator, Requirement
from tiphys.machinery.tree import Obj

_OS = "linux"
_OS_LABEL = "kubernetes.io/os"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_CRITICAL = 2_000_000_000
_SAFE_SYSCTLS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    )
)
_OPERATORS: Mapping[str, Operator] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": "gt",
    "Lt": "lt",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Place:
    """This node, as far as it matters here."""

    node: Obj
    """Its object in the API."""
    pressures: tuple[str, ...] = ()
    """Conditions of the node that are bad."""
    sysctls: tuple[str, ...] = ()
    """More that are allowed; a star at the end stands for the rest."""
    ending: bool = False
    """The machine is being shut down."""
    others: tuple[Obj, ...] = field(default_factory=tuple)
    """The pods that run here, with what they have been allotted."""


def refusal(pod: Obj, place: Place) -> Refusal | None:
    """None: it may run."""
    return _by_node(pod, place) or resource_refusal(pod, place) or _by_choice(pod, place)


def _by_node(pod: Obj, place: Place) -> Refusal | None:
    if place.ending:
        return Refusal("NodeShutdown", "Pod was rejected as the node is shutting down.")
    if place.pressures and not is_critical(pod) and not _bears_pressure(pod, place.pressures):
        return Refusal("Evicted", f"The node had condition: [{' '.join(place.pressures)}]. ")
    forbidden = _forbidden_sysctl(pod, place.sysctls)
    if forbidden:
        return Refusal("SysctlForbidden", f"forbidden sysctl: {forbidden}")
    if (pod["metadata"].get("labels") or {}).get(_OS_LABEL, _OS) != _OS:
        told = f"Failed to admit pod as the `{_OS_LABEL}` label doesn't match node label"
        return Refusal("PodOSSelectorNodeLabelDoesNotMatch", told)
    if (pod["spec"].get("os") or {}).get("name", _OS) != _OS:
        return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    strict = (pod["spec"].get("securityContext") or {}).get("supplementalGroupsPolicy") == "Strict"
    features = (place.node.get("status") or {}).get("features") or {}
    if strict and not features.get("supplementalGroupsPolicy"):
        told = "SupplementalGroupsPolicy=Strict is not supported in this node"
        return Refusal("SupplementalGroupsPolicyNotSupported", told)
    return None


def is_critical(pod: Obj) -> bool:
    return bool(pod["spec"].get("priority", 0) >= _CRITICAL) or is_static(pod)


def is_static(pod: Obj) -> bool:
    source: str = (pod["metadata"].get("annotations") or {}).get("kubernetes.io/config.source", "api")
    return source != "api"


def _bears_pressure(pod: Obj, pressures: tuple[str, ...]) -> bool:
    if pressures != ("MemoryPressure",):
        return False
    taint = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    return quality(pod) != "BestEffort" or _tolerates(pod, taint)


def _forbidden_sysctl(pod: Obj, allowed: tuple[str, ...]) -> str:
    spec = pod["spec"]
    for each in (spec.get("securityContext") or {}).get("sysctls") or ():
        name = each["name"].replace("/", ".")
        if name in _SAFE_SYSCTLS:
            space, shared = ("net", "hostNetwork") if name.startswith("net.") else ("ipc", "hostIPC")
            if spec.get(shared):
                return f'"{name}" not allowed with host {space} enabled'
        elif not any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in allowed):
            return f'"{name}" not allowlisted'
    return ""


def resource_refusal(pod: Obj, place: Place) -> Refusal | None:
    """Room for what it asks for, beside what the others have."""
    room = (place.node.get("status") or {}).get("allocatable") or {}
    if "pods" in room and len(place.others) + 1 > quantity.parse(room["pods"]).value():
        return _short("pods", 1, len(place.others), quantity.parse(room["pods"]).value())
    asked = facts.requests(_without_devices(pod))
    held = [facts.requests(each) for each in place.others]
    for name in sorted(asked, key=_rank):
        if is_extended(name) and name not in room:
            # Known to the cluster, not to the node: nothing that this node gives away.
            continue
        wanted = _whole(name, asked[name])
        used = sum(_whole(name, each[name]) for each in held if name in each)
        capacity = _whole(name, quantity.parse(room.get(name, "0")))
        if wanted > 0 and wanted > capacity - used:
            return _short(name, wanted, used, capacity)
    return None


def _without_devices(pod: Obj) -> Obj:
    """Resources that devices of a claim stand for are none of the node's."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    backed = {(each["containerName"], each["resourceName"]) for each in status.get("requestMappings") or ()}
    if not backed:
        return pod

    def rest(container: Obj) -> Obj:
        own = container.get("resources") or {}
        kept = {name: each for name, each in (own.get("requests") or {}).items() if (container["name"], name) not in backed}
        return {**container, "resources": {**own, "requests": kept}}

    spec = pod["spec"]
    lists = {key: [rest(each) for each in spec[key]] for key in ("initContainers", "containers") if spec.get(key)}
    return {**pod, "spec": {**spec, **lists}}


def _rank(name: str) -> tuple[int, str]:
    order = ("cpu", "memory", "ephemeral-storage")
    return (order.index(name) if name in order else len(order), name)


def _whole(name: str, of: Quantity) -> int:
    return of.milli() if name == "cpu" else of.value()


def _short(name: str, wanted: int, used: int, capacity: int) -> Refusal:
    told = f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}"
    return Refusal(f"OutOf{name}", told)


def _by_choice(pod: Obj, place: Place) -> Refusal | None:
    node, spec = place.node, pod["spec"]
    if not _chosen(spec, node):
        return _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if spec.get("nodeName") != node["metadata"]["name"]:
        return _predicate("NodeName", "node(s) didn't match the requested node name")
    taken = {port for each in place.others for port in host_ports(each)}
    if any(_clash(one, other) for one in host_ports(pod) for other in taken):
        return _predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if not is_static(pod):
        taints = [each for each in (node.get("spec") or {}).get("taints") or () if each["effect"] == "NoExecute"]
        if not all(_tolerates(pod, each) for each in taints):
            return _predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _predicate(name: str, words: str) -> Refusal:
    return Refusal(name, f"Predicate {name} failed: {words}")


def _chosen(spec: Obj, node: Obj) -> bool:
    labels = node["metadata"].get("labels") or {}
    if not selectors.from_labels(spec.get("nodeSelector")).matches(labels):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_fits(term, node, labels) for term in required.get("nodeSelectorTerms") or ())


def _fits(term: Obj, node: Obj, labels: Mapping[str, str]) -> bool:
    by_label, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    held = {"metadata.name": node["metadata"]["name"]}
    return _all(by_label, labels) and _all(by_field, held)


def _all(terms: Iterable[Obj], values: Mapping[str, str]) -> bool:
    wanted = (Requirement(each["key"], _OPERATORS[each["operator"]], tuple(each.get("values") or ())) for each in terms)
    return all(each.matches(values) for each in wanted)


def host_ports(pod: Obj) -> set[tuple[str, str, int]]:
    """Address, protocol and number. An init container's are free again before the others begin."""
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if facts.is_restartable(each)]
    return {
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for each in (*spec["containers"], *sidecars)
        for port in each.get("ports") or ()
        if port.get("hostPort")
    }


def _clash(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or "0.0.0.0" in (one[0], other[0]))


def _tolerates(pod: Obj, taint: Obj) -> bool:
    for each in pod["spec"].get("tolerations") or ():
        if each.get("effect") and each["effect"] != taint["effect"]:
            continue
        if each.get("key") and each["key"] != taint["key"]:
            continue
        if each.get("operator") == "Exists":
            return True
        if each.get("key") and (each.get("value") or "") == (taint.get("value") or ""):
            return True
    return False
