"""What the scheduler needs to know of a pod, read off the object once per change."""

from dataclasses import dataclass, replace

from tiphys.api.core.pods import facts
from tiphys.api.node_selector import NodeAffinity, node_affinity
from tiphys.api.pod_template import amounts, totals
from tiphys.machinery import quantity, times
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.affinity import AffinityTerm, PodAffinity, pod_affinity
from tiphys.scheduler.spreading import SpreadConstraint, spread_constraints
from tiphys.scheduler.volumes import ClaimUse, claims_of, named_disks

# What a container that asks for nothing is taken to use when nodes are scored.
_ASSUMED = {"cpu": quantity.from_milli(100), "memory": quantity.from_int(200 * 1024 * 1024)}
_NO_AFFINITY = PodAffinity()
ANY_ADDRESS = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        if self.effect and self.effect != effect:
            return False
        if self.key and self.key != key:
            return False
        return self.operator == "Exists" or (self.operator in ("", "Equal") and self.value == value)


@dataclass(frozen=True, slots=True)
class HostPort:
    address: str
    protocol: str
    port: int

    def clashes(self, other_address: str) -> bool:
        return self.address == other_address or ANY_ADDRESS in (self.address, other_address)


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    key: str
    uid: str
    namespace: str
    name: str
    labels: dict[str, str]
    priority: int
    scheduler: str
    node: str
    nominated: str
    deleting: bool
    gated: bool
    requests: dict[str, int]
    """CPU in thousandths, everything else in whole units."""
    scored_requests: tuple[int, int]
    """CPU and memory, where a container that asks for none counts as using some."""
    weighed_requests: tuple[int, int]
    """The same while the pod looks for its node: upstream then adds up the containers, whatever is asked for the pod itself."""
    tolerations: tuple[Toleration, ...]
    node_affinity: NodeAffinity
    affinity: PodAffinity
    spread: tuple[SpreadConstraint, ...]
    host_ports: tuple[HostPort, ...]
    claims: tuple[ClaimUse, ...]
    disks: tuple[Obj, ...]
    """Volumes that are named in the pod itself: pods of one node cannot share some."""
    images: tuple[str, ...]
    containers: int
    """How many containers, with those of the initialization."""
    preempts: bool
    started: float
    """Infinite before it has started: the newest."""
    obj: Obj

    @property
    def has_required_anti_affinity(self) -> bool:
        return bool(self.affinity.anti_required)


def of(pod: Obj) -> PodInfo:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    namespace, name, labels = metadata.get("namespace", ""), metadata["name"], metadata.get("labels") or {}
    affinity = spec.get("affinity")
    containers = spec.get("containers") or []
    starters = spec.get("initContainers") or []
    requests = facts.effective_requests(pod)
    scored = _scored(pod, requests)
    started = status.get("startTime")
    return PodInfo(
        key=f"{namespace}/{name}",
        uid=metadata.get("uid", ""),
        namespace=namespace,
        name=name,
        labels=labels,
        priority=spec.get("priority") or 0,
        scheduler=spec.get("schedulerName", ""),
        node=spec.get("nodeName") or "",
        nominated=status.get("nominatedNodeName") or "",
        deleting=bool(metadata.get("deletionTimestamp")),
        gated=bool(spec.get("schedulingGates")),
        requests=in_units(requests),
        scored_requests=scored,
        weighed_requests=scored if not spec.get("resources") else _of_containers(spec),
        tolerations=tuple(map(_toleration, spec.get("tolerations") or ())),
        node_affinity=node_affinity(spec),
        affinity=pod_affinity(affinity, namespace) if affinity else _NO_AFFINITY,
        spread=spread_constraints(spec["topologySpreadConstraints"], labels) if spec.get("topologySpreadConstraints") else (),
        host_ports=_host_ports(containers, starters),
        claims=tuple(claims_of(name, spec.get("volumes") or ())),
        disks=named_disks(spec.get("volumes") or ()),
        images=_images(spec, containers, starters),
        containers=len(containers) + len(starters),
        preempts=spec.get("preemptionPolicy") != "Never",
        started=times.parse(started) if started else float("inf"),
        obj=pod,
    )


def on(pod: PodInfo, node: str) -> PodInfo:
    """The same pod, as if it had been bound there."""
    return replace(pod, node=node, nominated="")


def in_units(amounts_by_name: dict[str, Quantity]) -> dict[str, int]:
    return {name: amount.milli() if name == "cpu" else amount.value() for name, amount in amounts_by_name.items()}


def _scored(pod: Obj, requests: dict[str, Quantity]) -> tuple[int, int]:
    """upstream pkg/scheduler/framework/types.go:CalculateResource."""
    spec = pod["spec"]
    missing: dict[str, Quantity] = _ASSUMED
    if any(map(amounts.is_pod_level, totals.asked(spec, "requests") or ())):
        # What is asked for the pod as a whole need not be guessed for its containers.
        missing = {name: amount for name, amount in _ASSUMED.items() if name not in requests}
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if not all(name in (totals.asked(each, "requests") or ()) for each in containers for name in missing):
        requests = facts.effective_requests({**pod, "spec": _with_assumed(spec, missing)})
    return requests["cpu"].milli(), requests["memory"].value()


def _of_containers(spec: Obj) -> tuple[int, int]:
    """upstream pkg/scheduler/framework/plugins/noderesources/fit.go: its scorers are not told of requests of whole pods."""
    total = totals.of_containers(_with_assumed(spec, _ASSUMED), "requests")
    amounts.add(total, amounts.parsed(spec.get("overhead")))
    return total["cpu"].milli(), total["memory"].value()


def _with_assumed(spec: Obj, missing: dict[str, Quantity]) -> Obj:
    """Containers that ask for nothing are taken to use as much as others would."""
    texts = {name: str(amount) for name, amount in missing.items()}
    filled = {
        kind: [{**each, "resources": {"requests": {**texts, **(totals.asked(each, "requests") or {})}}} for each in spec[kind]]
        for kind in ("containers", "initContainers")
        if spec.get(kind)
    }
    return {**spec, **filled}


def _toleration(tree: Obj) -> Toleration:
    return Toleration(tree.get("key") or "", tree.get("operator") or "", tree.get("value") or "", tree.get("effect") or "")


def _host_ports(containers: list[Obj], starters: list[Obj]) -> tuple[HostPort, ...]:
    lasting = [*(each for each in starters if facts.is_restartable(each)), *containers]
    return tuple(
        HostPort(port.get("hostIP") or ANY_ADDRESS, port.get("protocol") or "TCP", port["hostPort"])
        for container in lasting
        for port in container.get("ports") or ()
        if (port.get("hostPort") or 0) > 0
    )


def _images(spec: Obj, containers: list[Obj], starters: list[Obj]) -> tuple[str, ...]:
    named = [each.get("image") or "" for each in (*starters, *containers)]
    named += [each["image"].get("reference") or "" for each in spec.get("volumes") or () if each.get("image")]
    return tuple(map(normalized_image, named))


def normalized_image(name: str) -> str:
    """With the tag it would be pulled by."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


__all__ = ["AffinityTerm", "HostPort", "PodInfo", "Toleration", "in_units", "normalized_image", "of", "on"]
