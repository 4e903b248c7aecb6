"""What a pod's worker is about, for those who ask why the pod is not further: core, served as `/explain/NAMESPACE/POD`."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.pods.lifecycle import Phase, PodState
from tiphys.kubelet.pods.restarts import BackOff
from tiphys.kubelet.probes.verdict import Kind, Probed
from tiphys.kubelet.status.containers import Trouble
from tiphys.machinery import times
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Standing:
    state: PodState
    failures: int
    """How often in a row its worker has got nowhere, and why it did not the last time."""
    problem: str
    troubles: Mapping[str, Trouble]
    back_offs: Mapping[str, BackOff]
    probed: Mapping[tuple[str, Kind], Probed]
    """What the probes of each container said last."""


def explain(standing: Standing, observed: ObservedPod, now: float) -> Obj:
    state = standing.state
    told: Obj = {"phase": state.phase.value}
    if state.phase is Phase.TERMINATING:
        told["graceLeftSeconds"] = round(max(0.0, state.deadline - now), 3)
    if standing.problem:
        told["problem"] = standing.problem
        told["failures"] = standing.failures
    told["containers"] = {
        name: found for name in _names(standing, observed) if (found := _container(standing, observed, name, now))
    }
    return told


def _names(standing: Standing, observed: ObservedPod) -> list[str]:
    named = [*(each.name for each in observed.containers), *standing.troubles, *(name for name, _ in standing.probed)]
    return list(dict.fromkeys(named))


def _container(standing: Standing, observed: ObservedPod, name: str, now: float) -> Obj:
    told: Obj = {}
    if (trouble := standing.troubles.get(name)) is not None:
        told["trouble"] = {"reason": trouble.reason, "message": trouble.message}
    last = observed.newest(name)
    if last is not None:
        told["state"] = last.state
    back_off = standing.back_offs.get(name)
    if back_off is not None and last is not None and last.state == "exited":
        told["startsAgainInSeconds"] = round(back_off.waits(last.finished_at, now), 3)
    probes = {
        kind: {"succeeded": each.good, "output": each.output, "at": times.rfc3339_micro(each.at)}
        for (whose, kind), each in standing.probed.items()
        if whose == name
    }
    if probes:
        told["probes"] = probes
    return told
