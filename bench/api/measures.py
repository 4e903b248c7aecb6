"""The measurements, each on a namespace of its own pods."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.api.load import Busy, Counting, Endpoint, Result, Tally, drive
from bench.api.process import cpu_seconds, resident_bytes

STRATEGIC = "application/strategic-merge-patch+json"
LISTED = 1000


@dataclass(frozen=True)
class Plan:
    namespace: str = "bench-api"
    seconds: float = 4.0
    connections: int = 16
    created: int = 3000
    watchers: int = 200
    changes: int = 100
    bindings: int = 0
    """Role bindings to measure GETs of an ordinary user with; 0: leave that out."""


@dataclass
class Figures:
    """Name of a figure to its value; `better` says which way is good."""

    values: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, what: str, result: Result, cpu: float | None) -> None:
        self.values[f"{what}, per second"] = result.rate
        self.values[f"{what}, p99 ms"] = result.percentile(0.99) * 1000
        if cpu is not None and result.count:
            self.values[f"{what}, server CPU us"] = cpu / result.count * 1e6
        if result.failures:
            self.problems.append(f"{what}: answers {result.failures}")


class Bench:
    def __init__(self, endpoint: Endpoint, plan: Plan, pids: Sequence[int], say: Callable[[str], object]) -> None:
        self._endpoint = endpoint
        self._plan = plan
        self._pids = pids
        self._say = say
        self._pods = f"/api/v1/namespaces/{plan.namespace}/pods"
        self.figures = Figures()

    async def run(self) -> Figures:
        await self._prepare()
        try:
            await self._create("listed", LISTED, "")
            await self._get()
            if self._plan.bindings:
                await self._get_by_role()
            await self._list()
            await self._create("made", self._plan.created, "create pod")
            await self._patch()
            await self._watch()
            if self._pids:
                self.figures.values["server RSS MB"] = resident_bytes(self._pids) / 1e6
        finally:
            await self._clean()
        return self.figures

    async def _once(self, method: str, path: str, body: Any = None) -> Result:
        data = orjson.dumps(body) if body is not None else b""
        return await drive(self._endpoint, [self._endpoint.request(method, path, data)], 1, 60)

    async def _prepare(self) -> None:
        namespace = self._plan.namespace
        await self._once("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        # Where no controllers run nobody else makes the account that pods have to have.
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        await self._once("POST", accounts, {"metadata": {"name": "default"}})

    async def _clean(self) -> None:
        await self._once("DELETE", f"{self._pods}?gracePeriodSeconds=0")
        await self._once("DELETE", f"/api/v1/namespaces/{self._plan.namespace}")

    async def _measured(
        self,
        what: str,
        requests: Iterable[bytes],
        seconds: float = 600.0,
        connections: int = 0,
        endpoint: Endpoint | None = None,
    ) -> Result:
        self._say(what)
        before = cpu_seconds(self._pids) if self._pids else None
        result = await drive(endpoint or self._endpoint, requests, connections or self._plan.connections, seconds)
        cpu = cpu_seconds(self._pids) - before if before is not None else None
        if what:
            self.figures.take(what, result, cpu)
        return result

    async def _create(self, prefix: str, count: int, what: str) -> None:
        request = self._endpoint.request
        requests = [request("POST", self._pods, orjson.dumps(pod(f"{prefix}-{number}"))) for number in range(count)]
        result = await self._measured(what, requests)
        if not what and result.failures:
            raise SystemExit(f"pods cannot be created: answers {result.failures}")

    async def _get(self) -> None:
        requests = [self._endpoint.request("GET", f"{self._pods}/listed-{number}") for number in range(LISTED)]
        await self._measured("GET pod", itertools.cycle(requests), self._plan.seconds)

    async def _get_by_role(self) -> None:
        """By a service account with one binding, and again with many beside it, of which each counts for it, too."""
        namespace, roles = self._plan.namespace, "/apis/rbac.authorization.k8s.io/v1"
        local = f"{roles}/namespaces/{namespace}"
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        await self._once("POST", f"{local}/roles", {"metadata": {"name": "reader"}, "rules": rules})
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
        token = orjson.loads(b"".join((await self._once("POST", account, {"spec": {}})).pieces))["status"]["token"]
        user = self._endpoint.of(token)
        requests = [user.request("GET", f"{self._pods}/listed-{number}") for number in range(LISTED)]
        made = 0
        for count in (1, self._plan.bindings):
            bound = [binding(namespace, f"reader-{number}") for number in range(made, count)]
            posts = (self._endpoint.request("POST", f"{local}/rolebindings", orjson.dumps(each)) for each in bound)
            await self._measured("", posts)
            made = count
            what = f"GET pod, {count} binding{'s' if count > 1 else ''}"
            await self._measured(what, itertools.cycle(requests), self._plan.seconds, endpoint=user)

    async def _list(self) -> None:
        request = self._endpoint.request("GET", self._pods)
        await self._measured("LIST 1000 pods", itertools.repeat(request), self._plan.seconds, connections=4)

    def _status_patches(self) -> Iterator[bytes]:
        for turn in itertools.count():
            body = orjson.dumps({"status": condition(f"turn-{turn}")})
            for number in range(LISTED):
                path = f"{self._pods}/listed-{number}/status"
                yield self._endpoint.request("PATCH", path, body, STRATEGIC)

    async def _patch(self) -> None:
        await self._measured("patch status", self._status_patches(), self._plan.seconds)

    async def _watch(self) -> None:
        plan = self._plan
        self._say(f"watch, {plan.watchers} watchers")
        watch = self._endpoint.request("GET", f"{self._pods}?watch=1&resourceVersion=0&fieldSelector=metadata.name=listed-0")
        tally = Tally(plan.changes * plan.watchers)
        watchers = [await self._endpoint.connect(lambda: Counting(tally)) for _ in range(plan.watchers)]
        for watcher in watchers:
            watcher.transport.write(watch)
        await asyncio.wait([watcher.opened for watcher in watchers])
        writer = await self._endpoint.connect(Busy)
        loop = asyncio.get_running_loop()
        before, begin = cpu_seconds(self._pids) if self._pids else 0.0, loop.time()
        await writer.run(self._one_pod(plan.changes), Result(), float("inf"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60):
                await tally.complete.wait()
        took, came = loop.time() - begin, tally.events
        self.figures.values["watch events, per second"] = came / took
        if self._pids:
            self.figures.values["watch events, server CPU us"] = (cpu_seconds(self._pids) - before) / max(came, 1) * 1e6
        if not tally.complete.is_set():
            self.figures.problems.append(f"watch: {came} of {plan.changes * plan.watchers} events came")
        for watcher in watchers:
            watcher.transport.close()
        writer.transport.close()

    def _one_pod(self, changes: int) -> Iterator[bytes]:
        for turn in range(changes):
            body = orjson.dumps({"status": condition(f"watched-{turn}")})
            yield self._endpoint.request("PATCH", f"{self._pods}/listed-0/status", body, STRATEGIC)


def binding(namespace: str, name: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": "default"}],
    }


def condition(reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": "False", "reason": reason, "message": "x" * 60}]}


def pod(name: str) -> dict[str, Any]:
    """A pod of the usual size, which nobody schedules."""
    environment = [{"name": f"SETTING_{number}", "value": "v" * 30} for number in range(8)]
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "env": environment,
        "ports": [{"containerPort": 8080, "name": "http"}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "bench", "tier": "load", "pod-template-hash": "5d8f9c7b6"},
            "annotations": {"bench/note": "n" * 200},
        },
        "spec": {"schedulerName": "nobody", "automountServiceAccountToken": False, "containers": [container]},
    }
