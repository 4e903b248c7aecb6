"""Large answers are compressed for clients that take it: gzip at its fastest, as upstream does."""

import asyncio
import zlib
from collections.abc import Iterable

from tiphys.base.http.messages import Request, Response

THRESHOLD = 128 * 1024
"""Smaller answers are not worth the time."""
AT_ONCE = 1024 * 1024
"""Larger ones are compressed beside the loop, which zlib lets go on meanwhile."""

_LEVEL = 1
_GZIP_WINDOW = 31


def wanted(request: Request) -> bool:
    return any(each.strip() == "gzip" for each in request.headers.get("accept-encoding", "").split(","))


async def compressed(answer: Response) -> Response:
    """The same answer, smaller; one that is small already as it is."""
    parts = [answer.body] if isinstance(answer.body, bytes) else answer.body
    size = sum(map(len, parts))
    if size <= THRESHOLD:
        return answer
    body = _gzip(parts) if size <= AT_ONCE else await asyncio.to_thread(_gzip, parts)
    headers = (*answer.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return Response(answer.status, body, answer.content_type, headers)


def _gzip(parts: Iterable[bytes]) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return b"".join([*map(packer.compress, parts), packer.flush()])
