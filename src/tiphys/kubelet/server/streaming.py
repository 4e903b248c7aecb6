"""Exec, attach and port-forward: the runtime serves them, the kubelet passes the bytes on."""

from urllib.parse import urlsplit

from tiphys.base.http.client import HttpClient, Upgraded
from tiphys.base.http.messages import Answer, Channel, Request, Response, Upgrade
from tiphys.base.tasks import first_done

_NOT_PASSED_ON = frozenset(("authorization", "content-length", "host"))


async def pass_on(request: Request, url: str) -> Answer:
    """`url`: where the runtime waits for this stream."""
    parts = urlsplit(url)
    client = HttpClient(parts.hostname or "", parts.port or 80, keep=0)
    headers = [(name, value) for name, value in request.headers.items() if name not in _NOT_PASSED_ON]
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    upgraded = await client.upgrade(request.method, path, headers, request.body)
    if not isinstance(upgraded, Upgraded):
        return Response(upgraded.status, await upgraded.read_all(), upgraded.headers.get("content-type", "text/plain"))
    told = [(name, value) for name, value in upgraded.headers.items() if name not in ("date", "content-length")]
    return Upgrade(lambda channel: _copy_both(channel, upgraded), told)


async def _copy_both(one: Channel, other: Upgraded) -> None:
    try:
        await first_done(_copy(one, other), _copy(other, one))
    finally:
        other.close()


async def _copy(source: Channel | Upgraded, sink: Channel | Upgraded) -> None:
    while data := await source.read():
        sink.write(data)
        await sink.drain()
