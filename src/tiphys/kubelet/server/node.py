"""What is asked of the node: its pods, its figures, its configuration, its health, its own logs."""

import asyncio
import html
import os
from pathlib import Path

import orjson

from tiphys.base.http.messages import Answer, Request, Response
from tiphys.base.metrics import CONTENT_TYPE
from tiphys.kubelet.loop import Kubelet
from tiphys.kubelet.server.paths import PATHS, Asked, is_on, query_of
from tiphys.kubelet.server.refusal import Refused
from tiphys.kubelet.stats import exposition
from tiphys.kubelet.stats.summary import summary
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages

_TEXT = "text/plain; charset=utf-8"
_LOGS = Path("/var/log")
_MOST_OF_A_LOG = 16 << 20


class NodeRequests:
    def __init__(self, kubelet: Kubelet, pages: ZPages | None = None) -> None:
        self._kubelet = kubelet
        self._pages = pages

    async def pods(self, _request: Request, _asked: Asked) -> Answer:
        return _pod_list(self._kubelet.pods())

    async def running_pods(self, _request: Request, _asked: Asked) -> Answer:
        """As the runtime sees them: their names, their containers' names and images."""
        found = []
        for worker in self._kubelet.workers.values():
            alive = [each for each in worker.observed.containers if each.alive]
            if alive:
                names = ("name", "namespace", "uid")
                meta = {name: worker.pod["metadata"][name] for name in names}
                containers = [{"name": each.name, "image": each.image, "resources": {}} for each in alive]
                found.append({"metadata": meta, "spec": {"containers": containers}, "status": {}})
        return _pod_list(found)

    async def summary(self, request: Request, _asked: Asked) -> Answer:
        short = is_on(query_of(request.query), "only_cpu_and_memory")
        node, pods = await self._kubelet.collector.look(disks=not short)
        return Response(200, orjson.dumps(summary(node, pods, only_cpu_and_memory=short), option=orjson.OPT_INDENT_2))

    async def resource_metrics(self, _request: Request, _asked: Asked) -> Answer:
        node, pods = await self._kubelet.collector.look(disks=False)
        return Response(200, exposition.resource(node, pods).encode(), CONTENT_TYPE)

    async def cadvisor(self, _request: Request, _asked: Asked) -> Answer:
        node, pods = await self._kubelet.collector.look()
        text = exposition.cadvisor(node, pods, self._kubelet.context.config.cgroup_root)
        return Response(200, text.encode(), CONTENT_TYPE)

    async def metrics(self, _request: Request, _asked: Asked) -> Answer:
        return Response(200, self._kubelet.telemetry.registry.render(), CONTENT_TYPE)

    async def probe_metrics(self, _request: Request, _asked: Asked) -> Answer:
        return Response(200, self._kubelet.telemetry.probes.render(), CONTENT_TYPE)

    async def configz(self, _request: Request, _asked: Asked) -> Answer:
        return Response(200, orjson.dumps({"kubeletconfig": self._kubelet.context.config.settings}))

    async def page(self, request: Request, _asked: Asked) -> Answer:
        """/flagz and /statusz, where they are on."""
        found = self._pages.answer(request, PATHS) if self._pages is not None else None
        if found is None:
            raise Refused(404, "404 page not found\n")
        return found

    async def healthy(self, request: Request, asked: Asked) -> Answer:
        problem = self._kubelet.late()
        if problem and asked.what != "healthz/ping":
            told = f"[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n: {problem}\n"
            return Response(500, told.encode(), _TEXT)
        if "verbose" in query_of(request.query):
            return Response(200, b"[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n", _TEXT)
        return Response(200, b"ok", _TEXT)

    async def logs(self, _request: Request, asked: Asked) -> Answer:
        """Files of /var/log, and its folders as lists of links."""
        path = (_LOGS / asked.rest).resolve()
        if path != _LOGS and _LOGS not in path.parents:
            raise Refused(404, "404 page not found\n")
        if path.is_dir():
            names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir())
            links = "".join(f'<a href="{html.escape(name)}">{html.escape(name)}</a>\n' for name in names)
            return Response(200, f"<pre>\n{links}</pre>\n".encode(), "text/html; charset=utf-8")
        if not path.is_file():
            raise Refused(404, "404 page not found\n")
        return Response(200, await asyncio.to_thread(_end_of, path), _TEXT)

    async def debug(self, request: Request, asked: Asked) -> Answer:
        """`/debug/flags/v`: how much is logged, from now on. There is no Go program here to be profiled."""
        if asked.rest == "flags/v" and request.method == "PUT":
            level = request.body.decode(errors="replace").strip()
            if not level.isdecimal():
                raise Refused(400, f"failed set to verbosity {level!r}\n")
            self._kubelet.context.log.set_verbosity(int(level))
            return Response(200, f'successfully set klog.logging.verbosity to "{level}"'.encode(), _TEXT)
        if asked.rest.startswith("pprof"):
            raise Refused(404, "profiles are of Go programs, which this one is not; try py-spy on its process\n")
        raise Refused(404, "404 page not found\n")


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _MOST_OF_A_LOG))
        return file.read()


def _pod_list(items: list[Obj]) -> Response:
    return Response(200, orjson.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
