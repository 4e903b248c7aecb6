"""Stops a pod's containers: hooks first, then SIGTERM, then, when the grace is over, SIGKILL; sidecars after the others."""

import asyncio
from collections.abc import Iterable

from tiphys.base.tasks import together
from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.names import all_containers
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.restarts import is_sidecar
from tiphys.kubelet.pods.starting import Starter
from tiphys.machinery.tree import Obj

LEAST_AFTER_HOOK = 2.0
"""However long a preStop hook took, this is left for SIGTERM (minimumGracePeriodInSeconds)."""


class Stopper:
    """Of one pod."""

    def __init__(self, context: Context, starter: Starter) -> None:
        self._context = context
        self._starter = starter
        self._hooked: set[str] = set()
        """Containers whose preStop hook has been run: it is run once, however often the grace is shortened."""

    async def pod(self, pod: Obj, observed: ObservedPod, deadline: float) -> None:
        """Everything, by `deadline` (wall clock). May be cancelled and called again with an earlier one."""
        specs = {each["name"]: each for each in all_containers(pod)}
        sidecars = [each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each)]
        alive = [each for each in observed.containers if each.alive]
        await self._together(pod, specs, [each for each in alive if each.name not in sidecars], deadline, observed)
        # The one that started last is the first to go.
        for name in reversed(sidecars):
            await self._together(pod, specs, [each for each in alive if each.name == name], deadline, observed)
        for sandbox in observed.sandboxes:
            if sandbox.ready:
                with self._starter.timeline.step("end of the sandbox and its network"):
                    await self._context.runtime.stop_sandbox(sandbox.id)

    async def _together(
        self, pod: Obj, specs: dict[str, Obj], chosen: Iterable[Container], deadline: float, observed: ObservedPod
    ) -> None:
        await together(
            *(
                self.container(pod, specs.get(each.name), each, deadline, f"Stopping container {each.name}", observed)
                for each in chosen
            )
        )

    async def container(
        self, pod: Obj, spec: Obj | None, running: Container, deadline: float, told: str, observed: ObservedPod
    ) -> None:
        context, clock = self._context, self._context.clock
        first = running.id not in self._hooked
        if first:
            context.tell(pod, "Normal", "Killing", told, spec)
            self._hooked.add(running.id)
        hook = ((spec or {}).get("lifecycle") or {}).get("preStop")
        left = deadline - clock.now()
        if hook and spec is not None and first and left > 0:
            await self._hook(pod, spec, running, hook, left, observed)
            left = max(deadline - clock.now(), LEAST_AFTER_HOOK)
        grace = max(0.0, round(left))
        with self._starter.timeline.step("SIGTERM, and its end", running.name, until=clock.now() + grace):
            await context.runtime.stop_container(running.id, grace)

    async def _hook(self, pod: Obj, spec: Obj, running: Container, hook: Obj, seconds: float, observed: ObservedPod) -> None:
        context = self._context
        sandbox = observed.sandbox
        addresses = sandbox.addresses if sandbox is not None else ()
        if pod["spec"].get("hostNetwork"):
            addresses = context.config.addresses
        try:
            async with asyncio.timeout(seconds):
                with self._starter.timeline.step("preStop hook", running.name, until=context.clock.now() + seconds) as step:
                    asked = self._starter.asked(spec, running.id, addresses)
                    problem = step.problem = await context.executor.hook(asked, hook, seconds)
        except TimeoutError:
            return
        if problem:
            context.tell(pod, "Warning", "FailedPreStopHook", "PreStopHook failed", spec)


async def remove_from_runtime(runtime: Runtime, observed: ObservedPod) -> None:
    """Whatever still runs of it is killed."""
    for container in observed.containers:
        await runtime.remove_container(container.id)
    for sandbox in observed.sandboxes:
        await runtime.stop_sandbox(sandbox.id)
        await runtime.remove_sandbox(sandbox.id)
