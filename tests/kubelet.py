"""The least that a kubelet does, for simulations of controllers: what is Pending runs and is ready, what is to go goes."""

from collections.abc import Callable

from tests.cluster import Cluster
from tests.virtual_loop import START

from tiphys.api.core.pods import PODS
from tiphys.machinery import meta, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


async def run_pod(cluster: Cluster, pod: Obj, *, phase: str = "Running", ready: bool = True) -> None:
    at = times.rfc3339(START + cluster.clock.monotonic())
    status = "True" if ready else "False"
    conditions = [{"type": "Ready", "status": status, "lastTransitionTime": at}]
    await cluster.patch(PODS, meta.key(pod), {"status": {"phase": phase, "conditions": conditions}}, "status")


async def beat(cluster: Cluster, wanted: Callable[[Obj], bool] = lambda _: True) -> None:
    """One round over the pods that are `wanted`."""
    for pod in await cluster.list(PODS):
        try:
            if not wanted(pod):
                continue
            if meta.is_deleting(pod):
                await cluster.delete(PODS, meta.key(pod), gracePeriodSeconds=0)
            elif pod["status"]["phase"] == "Pending":
                await run_pod(cluster, pod)
        except ApiError as error:
            # Somebody else was faster.
            if error.reason not in ("NotFound", "Conflict"):
                raise


async def work(cluster: Cluster, rounds: int, wanted: Callable[[Obj], bool] = lambda _: True) -> None:
    """So many rounds, half a second apart."""
    for _ in range(rounds):
        await cluster.settle(0.5)
        await beat(cluster, wanted)
    await cluster.settle(0.5)
