"""Carries out a pod's resize, and keeps what it was given and what is in force in a file beside its volumes."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import orjson

from tiphys.kubelet import cgroups
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.pods.allocation import Given, Pending
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.resizing import Change, InForce, below_use, run_key, summary
from tiphys.kubelet.pods.resources import kernel_settings, pod_cgroup
from tiphys.kubelet.status.conditions import Raised
from tiphys.kubelet.volumes import host
from tiphys.machinery.tree import Obj

_FILE = "resources.json"


class Resizer:
    """Of one pod."""

    def __init__(self, context: Context, uid: str) -> None:
        self._context = context
        self._file = Path(context.folder(uid).path) / _FILE
        self.in_force = InForce()
        self._given: Given | None = None
        self._pending: tuple[int, Pending] | None = None
        self.under_way: int | None = None
        """The generation that asked for it."""
        self.problem = ""

    async def recall(self) -> Given | None:
        """What the pod had been given before this kubelet came; None where it is new."""
        text = await asyncio.to_thread(host.read_start, self._file, 1 << 20)
        if not text:
            return None
        told = orjson.loads(text)
        self.in_force = InForce(told["containers"], told["pod"])
        given: Given = told["given"]
        return given

    async def keep(self, pod: Obj) -> None:
        """What the pod has been given, over a restart of the kubelet."""
        uid = pod["metadata"]["uid"]
        given = self._context.allocations.given(uid) or {}
        if self.in_force.pod is None and pod["spec"].get("resources") is not None:
            self.in_force = replace(self.in_force, pod=pod["spec"]["resources"])
        told = {"given": given, "containers": self.in_force.containers, "pod": self.in_force.pod}
        await asyncio.to_thread(host.write_text, self._file, orjson.dumps(told).decode())

    async def started(self, pod: Obj, container: Obj, attempt: int) -> None:
        """A run of a container begins with what its pod has been given."""
        held = {key: value for key, value in self.in_force.containers.items() if not key.startswith(f"{container['name']}/")}
        held[run_key(container["name"], attempt)] = container.get("resources") or {}
        self.in_force = replace(self.in_force, containers=held)
        await self.keep(pod)

    async def note(self, pod: Obj) -> None:
        """Has it been given something else? Does it wait for that?"""
        uid, generation = pod["metadata"]["uid"], pod["metadata"].get("generation") or 0
        given, pending = self._context.allocations.given(uid), self._context.allocations.pending(uid)
        if given is not self._given:
            if self._given is not None:
                self.under_way, self.problem = generation, ""
                self._context.tell(pod, "Normal", "ResizeStarted", summary("Pod resize started", pod, generation))
            self._given = given
            await self.keep(pod)
        told, self._pending = self._pending, None if pending is None else (generation, pending)
        if pending is not None and (told is None or (told[0], told[1].reason) != (generation, pending.reason)):
            words = summary(f"Pod resize {pending.reason}", pod, generation, pending.message)
            self._context.tell(pod, "Warning", f"Resize{pending.reason}", words)

    @property
    def raised(self) -> dict[str, Raised]:
        """Conditions of the pod."""
        made: dict[str, Raised] = {}
        if self._pending is not None:
            generation, pending = self._pending
            made["PodResizePending"] = Raised(pending.reason, pending.message, generation)
        if self.under_way is not None:
            made["PodResizeInProgress"] = Raised("Error" if self.problem else "", self.problem, self.under_way)
        return made

    async def apply(self, pod: Obj, changed: Iterable[Change]) -> None:
        """In place. The pod's cgroup never allows less than its containers have."""
        changed = list(changed)
        before, self.problem = self.problem, await asyncio.to_thread(self._below_use, pod, changed)
        if not self.problem:
            try:
                await self._update(pod, changed)
            except (RuntimeFailed, OSError) as failed:
                self.problem = str(failed)
        if self.problem and self.problem != before:
            words = summary("Pod resize error", pod, self.under_way or 0, self.problem)
            self._context.tell(pod, "Warning", "ResizeError", words)

    async def _update(self, pod: Obj, changed: list[Change]) -> None:
        root = self._context.config.cgroup_root
        await asyncio.to_thread(cgroups.widen, root, pod)
        for each in changed:
            await self._context.runtime.update_container(each.container.id, kernel_settings(each.after))
            key = run_key(each.container.name, each.container.attempt)
            held = {**self.in_force.containers, key: each.spec.get("resources") or {}}
            self.in_force = replace(self.in_force, containers=held)
        await asyncio.to_thread(cgroups.make, root, pod)
        self._context.share_cpu()
        self.in_force = replace(self.in_force, pod=pod["spec"].get("resources"))
        await self.keep(pod)

    def _below_use(self, pod: Obj, changed: list[Change]) -> str:
        below = pod_cgroup(self._context.config.cgroup_root, pod)
        problems = []
        for each in changed:
            used = cgroups.memory_used(f"{below}/{each.container.id}")
            if below_use(each.after, each.before, used):
                problems.append(
                    f'attempting to set container "{each.container.name}" memory limit ({each.after.memory_limit}) '
                    f"below current usage ({used})"
                )
        told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        return f"cannot decrease memory limits: {told}" if problems else ""

    def finish(self, pod: Obj) -> None:
        """Everything is in force."""
        if self.under_way is not None:
            self._context.tell(pod, "Normal", "ResizeCompleted", summary("Pod resize completed", pod, self.under_way))
            self.under_way = None
