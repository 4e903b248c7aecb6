"""How long a scheduler of ours thinks of one pod, in CPU time, without an API server.

python -m bench.scheduler.decisions --nodes 5000 --pods 5000
"""

import argparse
import random
import sys
import time

from bench.scheduler import cluster
from bench.scheduler.cases import CASES, Case
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.kind import Kind
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.cmd.process import settle_memory
from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.cycle import Placed
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.state import State


def stored(kind: Kind, obj: Obj) -> Obj:
    kind.default(obj)
    obj["metadata"].setdefault("uid", obj["metadata"]["name"])
    return obj


def offer(case: Case, state: State, nodes: int, pods: int) -> None:
    known = state.cluster
    known.device_classes["bench-gpu"] = stored(DEVICECLASSES, cluster.device_class())
    for at in range(nodes):
        made = stored(RESOURCESLICES, cluster.devices(at, case.devices))
        known.resource_slices[made["metadata"]["name"]] = made
    for at in range(pods):
        known.resource_claims.changed(None, stored(RESOURCECLAIMS, cluster.claim(at)))


def decide(case: Case, nodes: int, pods: int) -> list[float]:
    """Seconds of CPU of each decision: others on the machine do not count."""
    state = State(lambda known: {DEFAULT_SCHEDULER: default_profile(known)}, random.Random(1).randrange)
    cycle = state.cycles[DEFAULT_SCHEDULER]
    for at in range(nodes):
        state.node_changed(None, stored(NODES, cluster.node(at)), 0.0)
    for at in range(case.already(pods, nodes)):
        state.pod_changed(None, stored(PODS, cluster.on_a_node(case.there(at), at, nodes)), 0.0)
    if case.devices:
        offer(case, state, nodes, pods)
    settle_memory()  # as the program does once it knows what there is
    took = []
    for at in range(pods):
        made = stored(PODS, case.waiting(at))
        made["spec"]["priority"] = 1000 if "priorityClassName" in made["spec"] else 0
        pod = pod_info.of(made)
        began = time.thread_time()
        outcome = cycle.schedule(pod, 0.0)
        took.append(time.thread_time() - began)
        if isinstance(outcome, Placed):
            for each in state.profiles[DEFAULT_SCHEDULER].reservers:
                each.reserve(pod, outcome.node)
            state.pods.assume(pod, outcome.node)
        elif outcome.victims is not None:
            for each in outcome.victims.pods:
                state.pods.remove(each.uid)
            state.pods.assume(pod, outcome.victims.node)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="what the pods ask for (default: all)")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=2000)
    given = parser.parse_args()
    for title in given.case or CASES:
        took = sorted(decide(CASES[title], given.nodes, given.pods))
        half, late, last = (1000 * took[int(part * (len(took) - 1))] for part in (0.5, 0.99, 1.0))
        print(f"{title:31}median {half:6.2f} ms   p99 {late:6.2f} ms   longest {last:7.2f} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
