"""What a scheduler is measured with: pods that are there before, pods that wait, and what else goes on meanwhile.

The shapes of upstream's test/integration/scheduler_perf, and four that a design promises figures for.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bench.scheduler import cluster
from tiphys.machinery.tree import Obj

Maker = Callable[[int], Obj]
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Case:
    waiting: Maker
    there: Maker = cluster.plain
    """Pods that are on their nodes when it begins."""
    filled: float = 0.0
    """How many of those for each that waits."""
    on_each: int = 0
    """How many more of those on each node."""
    hopeless: int = 0
    """Pods that wait too, and for which there is no node."""
    churns: bool = False
    """Nodes, Services and pods come and go."""
    devices: int = 0
    """Offered by each node. Each pod that waits has a claim to one."""

    def already(self, pods: int, nodes: int) -> int:
        return int(self.filled * pods) + self.on_each * nodes


def _in_group(group: str, **spec: object) -> Obj:
    made = cluster.plain(0)
    made["metadata"]["labels"] = {"color": group}
    made["spec"].update(spec)
    return made


def _named(number: int, made: Obj) -> Obj:
    made["metadata"]["name"] = f"bench-{number}"
    return made


def _term(group: str, key: str = cluster.HOST) -> Obj:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"color": group}}}


def _zone_spread(number: int) -> Obj:
    return _named(number, _in_group("blue", topologySpreadConstraints=[_even_zones("blue")]))


def _even_zones(group: str) -> Obj:
    return {
        "maxSkew": 5,
        "topologyKey": cluster.ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"color": group}},
    }


def _host_anti_affinity(number: int) -> Obj:
    # As many groups as needed for each to fit on the nodes.
    group = f"group-{number % 10}"
    return _named(number, _in_group(group, affinity={"podAntiAffinity": {_REQUIRED: [_term(group)]}}))


def _zone_affinity(number: int) -> Obj:
    group = f"zone-{number % cluster.ZONES}"
    return _named(number, _in_group(group, affinity={"podAffinity": {_REQUIRED: [_term(group, cluster.ZONE)]}}))


def _apart(number: int) -> Obj:
    return _named(number, _in_group("green", affinity={"podAntiAffinity": {_REQUIRED: [_term("green")]}}))


def _preferably_together(number: int) -> Obj:
    preferred = {"weight": 1, "podAffinityTerm": _term("red")}
    return _named(number, _in_group("red", affinity={"podAffinity": {_PREFERRED: [preferred]}}))


def _low(number: int) -> Obj:
    return cluster.plain(number, cpu="9")


def _high(number: int) -> Obj:
    made = cluster.plain(number, cpu="9")
    made["spec"]["priorityClassName"] = cluster.PRIORITY
    return made


def _with_claim(number: int) -> Obj:
    name = f"bench-{number}"
    return _named(number, _in_group("blue", resourceClaims=[{"name": "one", "resourceClaimName": name}]))


def _small(number: int) -> Obj:
    return cluster.plain(number, cpu="2")


def _high_like(make: Maker) -> Maker:
    """Nine CPUs again, so that others have to go, and with what else that pod has."""

    def made(number: int) -> Obj:
        high, spec = _high(number), make(number)["spec"]
        high["metadata"]["labels"] = make(number)["metadata"]["labels"]
        containers = [{**high["spec"]["containers"][0], "ports": spec["containers"][0].get("ports") or []}]
        return {**high, "spec": {**spec, **high["spec"], "containers": containers}}

    return made


def _with_port(number: int) -> Obj:
    made = cluster.plain(number)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8000 + number % 3}]
    return made


def _with_disk(number: int) -> Obj:
    made = cluster.plain(number)
    made["spec"]["volumes"] = [{"name": "disk", "gcePersistentDisk": {"pdName": f"disk-{number}"}}]
    return made


def _low_like(make: Maker) -> Maker:
    def made(number: int) -> Obj:
        low = _high_like(make)(number)
        del low["spec"]["priorityClassName"]
        return low

    return made


def _preempting(make: Maker) -> Case:
    return Case(_high_like(make), _low_like(make), on_each=3)


CASES: dict[str, Case] = {
    "basic": Case(cluster.plain),
    "zone-spread": Case(_zone_spread),
    "host-anti-affinity": Case(_host_anti_affinity),
    "zone-affinity": Case(_zone_affinity),
    "SchedulingBasic": Case(cluster.plain, filled=0.1),
    "SchedulingPodAntiAffinity": Case(_apart, _apart, 0.5),
    "TopologySpreading": Case(_zone_spread, filled=1.0),
    "SchedulingPreferredPodAffinity": Case(_preferably_together, _preferably_together, 1.0),
    "Unschedulable": Case(cluster.plain, hopeless=200),
    "SchedulingWithMixedChurn": Case(cluster.plain, churns=True),
    "Devices": Case(_with_claim, devices=8),
    "Preemption": Case(_high, _low, on_each=3),
    "preemption-anti-affinity": _preempting(_host_anti_affinity),
    "preemption-zone-spread": _preempting(_zone_spread),
    "preemption-zone-affinity": _preempting(_zone_affinity),
    "preemption-ports": _preempting(_with_port),
    "preemption-disks": _preempting(_with_disk),
    "preemption-crowded": Case(_high, _small, on_each=16),
}
