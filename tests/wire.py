"""Requests as they come over the wire, through the whole pipeline of a server in this process: headers, bytes and all.

def test_something() -> None:
    def scenario(wire: Wire) -> None: ...
    converse(scenario)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from tests.cluster import ADMIN_TOKEN, Cluster, simulate

from tiphys.base.http.messages import Request, Response, Stream
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    media: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def tree(self) -> Any:
        return orjson.loads(self.body)

    @property
    def message(self) -> str:
        """Of a Status."""
        return str(self.tree.get("message", ""))

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each == name]

    @property
    def events(self) -> list[Obj]:
        """Of a watch."""
        return [orjson.loads(line) for line in self.body.splitlines()]


class _Channel:
    """Keeps what a stream writes."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    pending = 0

    async def drain(self) -> None: ...

    async def read(self) -> bytes:
        return b""

    async def closed(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None: ...


class Wire:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def __call__(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        media: str = "application/json",
        accept: str = "",
        token: str = ADMIN_TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        path, _, query = url.partition("?")
        sent = {"user-agent": "test/1", **(headers or {})}
        if token:
            sent["authorization"] = f"Bearer {token}"
        if accept:
            sent["accept"] = accept
        data = body.encode() if isinstance(body, str) else b"" if body is None else orjson.dumps(body)
        if body is not None and media:
            sent["content-type"] = media
        answer = await self.cluster.server.pipeline.handle(Request(method, path, query, sent, data))
        if isinstance(answer, Stream):
            channel = _Channel()
            await answer.run(channel)
            return Answered(answer.status, answer.content_type, tuple(answer.headers), b"".join(channel.written))
        assert isinstance(answer, Response)
        whole = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        return Answered(answer.status, answer.content_type, tuple(answer.headers), whole)


def converse(scenario: Callable[[Wire], Awaitable[None]]) -> None:
    async def whole(cluster: Cluster) -> None:
        wire = Wire(cluster)
        await wire(
            "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default", "namespace": "default"}}
        )
        await scenario(wire)

    simulate(whole)


def configmap(name: str = "", **metadata: Any) -> Obj:
    named = {"name": name} if name else {}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {**named, **metadata}, "data": {"a": "1"}}


def pod(name: str, **spec: Any) -> Obj:
    containers = [{"name": "c", "image": "i"}]
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str, replicas: int = 1) -> Obj:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": name, "labels": labels}, "spec": spec}
