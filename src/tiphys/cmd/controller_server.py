"""The port of `tiphys controller-manager`: health, metrics, explanations."""

import asyncio
from pathlib import Path
from typing import NoReturn

from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.http.server import Server
from tiphys.base.tls import Pair, Subject
from tiphys.base.tls_context import Serving
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.process import cannot_listen
from tiphys.controllers.serving import Handler


def own_pair(host: str, now: float) -> Pair:
    """For who brings no certificate: one that nobody vouches for."""
    authority = tls.make_authority("controller-manager-ca", now=now)
    return tls.issue(authority, Subject("controller-manager"), ["server"], now=now, names=["localhost", "127.0.0.1", host])


async def serve(handler: Handler, host: str, port: int, files: tuple[Path, Path] | None, clock: Clock) -> NoReturn:
    """Until cancelled. Raises Unusable where it cannot listen."""
    try:
        pair = tls.load(*files) if files is not None else own_pair(host, clock.now())
        server = Server(handler.answer, ssl_context=Serving(pair).context)
    except (OSError, ValueError) as problem:
        raise Unusable(f"cannot serve with these certificates: {problem}") from None
    try:
        await server.listen(host, port)
    except OSError as problem:
        raise cannot_listen(problem, host, port) from None
    try:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody ends this future")
    finally:
        await server.shutdown(0.5)
