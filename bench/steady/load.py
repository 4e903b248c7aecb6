"""Requests at a constant rate, and what became of each."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import cast


@dataclass(slots=True)
class Result:
    sent: int = 0
    latencies: list[float] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    """By reason."""

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class _Asking(asyncio.Protocol):
    def __init__(self, request: bytes, done: asyncio.Future[bytes]) -> None:
        self._request = request
        self._done = done
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self._heard += data

    def connection_lost(self, problem: Exception | None) -> None:
        if self._done.done():
            return
        if problem is not None:
            self._done.set_exception(problem)
        else:
            self._done.set_result(self._heard)


class Load:
    """`run` until `stop`."""

    def __init__(self, host: str, port: int, rate: float, path: str = "/", patience: float = 5.0) -> None:
        """`patience`: seconds for a request, from the moment it was due; longer ones are lost."""
        self.result = Result()
        self._address = (host, port)
        self._gap = 1 / rate
        self._patience = patience
        self._request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> Result:
        """Ends when the last request has been answered, or given up."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        async with asyncio.TaskGroup() as group:
            while not self._stopped.is_set():
                while due <= loop.time():
                    self.result.sent += 1
                    group.create_task(self._ask(loop, due))
                    due += self._gap
                await asyncio.sleep(due - loop.time())
        return self.result

    async def _ask(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        done: asyncio.Future[bytes] = loop.create_future()
        transport: asyncio.BaseTransport | None = None
        try:
            async with asyncio.timeout_at(due + self._patience):
                transport, _ = await loop.create_connection(lambda: _Asking(self._request, done), *self._address)
                heard = await done
        except TimeoutError:
            self.result.lost["connected, no answer" if transport else "no connection"] += 1
        except OSError as problem:
            self.result.lost[problem.strerror or str(problem)] += 1
        else:
            first = heard.partition(b"\r\n")[0]
            if b" 200 " in first:
                self.result.latencies.append(loop.time() - due)
            else:
                self.result.lost[first.decode(errors="replace") or "an empty answer"] += 1
        finally:
            if transport is not None:
                transport.close()
