"""Exec, attach and port-forward: the runtime serves them, the kubelet passes the bytes on."""

from urllib.parse import urlsplit

from tiphys.base.http.client import HttpClient, Upgraded
from tiphys.base.http.messages import Answer, Request, Response, Upgrade

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
    return Upgrade(upgraded.join, told)
