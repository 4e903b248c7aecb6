"""What is asked of one pod: its logs, commands in it, its terminals and ports."""

import asyncio
from pathlib import Path

import orjson

from tiphys.base.clock import Clock
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import Container
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.logs import BadOptions, options
from tiphys.kubelet.loop import Kubelet
from tiphys.kubelet.names import all_containers, log_folder
from tiphys.kubelet.pods.lifecycle import Phase
from tiphys.kubelet.pods.worker import PodWorker
from tiphys.kubelet.server.log_stream import send
from tiphys.kubelet.server.paths import Asked, Query, is_on, query_of
from tiphys.kubelet.server.refusal import Refused
from tiphys.kubelet.server.streaming import pass_on
from tiphys.machinery import times
from tiphys.machinery.tree import Obj


class PodRequests:
    def __init__(self, kubelet: Kubelet, runtime: Runtime, clock: Clock) -> None:
        self._kubelet = kubelet
        self._runtime = runtime
        self._clock = clock

    def _worker(self, asked: Asked) -> PodWorker:
        worker = self._kubelet.find(asked.namespace, asked.pod, asked.uid)
        if worker is None:
            raise Refused(404, f'pod "{asked.pod}" does not exist\n')
        return worker

    async def _container(self, asked: Asked, *, running: bool) -> Container:
        worker = self._worker(asked)
        observed = await self._runtime.observe(worker.uid)
        found = observed.newest(asked.container)
        if found is None or (running and found.state != "running"):
            raise Refused(404 if found is None else 500, f'container not found ("{asked.container}")\n')
        return found

    async def logs(self, request: Request, asked: Asked) -> Answer:
        query = {name: values[0] for name, values in query_of(request.query).items()}
        try:
            chosen = options(query, self._clock.now())
        except BadOptions as wrong:
            raise Refused(400, f'{{"message": "{wrong}"}}\n') from wrong
        worker = self._worker(asked)
        pod = worker.pod
        if all(each["name"] != asked.container for each in all_containers(pod)):
            raise Refused(404, f'container "{asked.container}" not found in pod "{asked.pod}"\n')
        observed = await self._runtime.observe(worker.uid)
        runs = [each for each in observed.containers if each.name == asked.container and each.state != "created"]
        index = 1 if chosen.previous else 0
        if len(runs) <= index:
            raise Refused(400, _no_logs(asked, previous=chosen.previous, never=not runs))
        run = runs[index]
        path = Path(log_folder(self._kubelet.context.config.logs, pod), asked.container, f"{run.attempt}.log")

        async def alive() -> bool:
            # What the pod's worker saw last: asking the runtime ten times a second would be work for nothing.
            return any(each.id == run.id and each.alive for each in worker.observed.containers)

        async def stream(channel: Channel) -> None:
            try:
                await send(path, chosen, channel, alive)
            except (FileNotFoundError, RuntimeFailed):
                return

        if not await asyncio.to_thread(path.exists):
            raise Refused(500, f"failed to try resolving symlinks in path {str(path)!r}: no such file or directory\n")
        return Stream(stream, 200, "text/plain")

    async def exec(self, request: Request, asked: Asked) -> Answer:
        query = query_of(request.query)
        command = query.get("command", [])
        if not command:
            raise Refused(400, "you must specify at least one command\n")
        container = await self._container(asked, running=True)
        url = await self._runtime.streaming("Exec", container_id=container.id, cmd=command, **_streams(query))
        return await pass_on(request, url)

    async def attach(self, request: Request, asked: Asked) -> Answer:
        query = query_of(request.query)
        container = await self._container(asked, running=True)
        spec = next(each for each in all_containers(self._worker(asked).pod) if each["name"] == asked.container)
        wanted = {**_streams(query), "tty": bool(spec.get("tty"))}
        url = await self._runtime.streaming("Attach", container_id=container.id, **wanted)
        return await pass_on(request, url)

    async def port_forward(self, request: Request, asked: Asked) -> Answer:
        sandbox = (await self._runtime.observe(self._worker(asked).uid)).sandbox
        if sandbox is None:
            raise Refused(404, f'not able to find any sandbox for pod "{asked.pod}"\n')
        ports = [int(each) for each in query_of(request.query).get("port", []) if each.isdecimal()]
        url = await self._runtime.streaming("PortForward", pod_sandbox_id=sandbox.id, port=ports)
        return await pass_on(request, url)

    async def explain(self, _request: Request, asked: Asked) -> Answer:
        """What is being done for the pod, and what has been; also of one that is gone, as long as it is remembered."""
        key = f"{asked.namespace}/{asked.pod}"
        timelines = self._kubelet.context.timelines
        found = timelines.find(key)
        if found is None:
            raise Refused(404, f'pod "{asked.pod}" does not exist\n')
        uid, timeline = found
        worker = self._kubelet.workers.get(uid)
        told: Obj = {"pod": key, "uid": uid, "node": self._kubelet.context.config.node}
        told["since"] = times.rfc3339_micro(timelines.since)
        told |= worker.explain() if worker is not None else {"phase": Phase.GONE.value}
        return Response(200, orjson.dumps({**told, "steps": timeline.to_tree()}, option=orjson.OPT_INDENT_2))

    async def run(self, request: Request, asked: Asked) -> Answer:
        command = query_of(request.query).get("cmd", [""])[0].split(" ")
        container = await self._container(asked, running=True)
        done = await self._runtime.execute(container.id, command, 0)
        if done.exit_code:
            told = f"command '{' '.join(command)}' exited with {done.exit_code}: {done.output.decode(errors='replace')}"
            raise Refused(500, told)
        return Response(200, done.output)

    async def checkpoint(self, _request: Request, asked: Asked) -> Answer:
        worker = self._worker(asked)
        if all(each["name"] != asked.container for each in all_containers(worker.pod)):
            raise Refused(404, f"container {asked.container} does not exist\n")
        why = "this kubelet writes no checkpoints: the containers' processes would have to be frozen and saved by CRIU"
        raise Refused(501, f"checkpointing of {asked.namespace}/{asked.pod}/{asked.container} failed ({why})\n")


def _streams(query: Query) -> dict[str, bool]:
    tty = is_on(query, "tty")
    # A terminal has one output.
    return {
        "stdin": is_on(query, "input"),
        "stdout": is_on(query, "output"),
        "stderr": is_on(query, "error") and not tty,
        "tty": tty,
    }


def _no_logs(asked: Asked, *, previous: bool, never: bool) -> str:
    if previous:
        return f'previous terminated container "{asked.container}" in pod "{asked.pod}" not found\n'
    if never:
        return f'container "{asked.container}" in pod "{asked.pod}" is waiting to start: ContainerCreating\n'
    return f'container "{asked.container}" in pod "{asked.pod}" is terminated\n'
