"""Events: what a component tells people about an object. Telling never waits and never fails; writing happens behind it."""

import asyncio
from collections.abc import Callable

from tiphys.api.core.events import EVENTS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.client.correlation import Correlator, Write
from tiphys.client.interface import Client
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

WAITING = 1000
"""Events beyond these are dropped: people cannot read them anyway."""
TRIES = 12
RETRY_SECONDS = 10.0


class Recorder:
    """One for a process; `component` is told by each caller, since several controllers share it."""

    def __init__(self, client: Client, clock: Clock, log: Logger, *, host: str = "") -> None:
        self._client = client
        self._clock = clock
        self._log = log
        self._host = host
        self._correlator = Correlator()
        self._waiting: asyncio.Queue[Write] = asyncio.Queue(WAITING)
        self._last = 0

    def tell(self, about: Obj, component: str, kind: str, reason: str, message: str) -> None:
        """`kind` is Normal or Warning; `about` an object, or a reference made to look like one."""
        write = self._correlator.correlate(self._event(about, component, kind, reason, message), self._clock.now())
        if write is None:
            return
        try:
            self._waiting.put_nowait(write)
        except asyncio.QueueFull:
            self._log.debug(2, "too many events at once", reason=reason)

    def _event(self, about: Obj, component: str, kind: str, reason: str, message: str) -> Obj:
        now, metadata = self._clock.now(), about["metadata"]
        # Names must differ even where the clock does not move.
        self._last = max(self._last + 1, int(now * 1_000_000_000))
        stamp = times.rfc3339(now)
        concerned = {
            "kind": about["kind"],
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "apiVersion": about["apiVersion"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        if about.get("fieldPath"):
            concerned["fieldPath"] = about["fieldPath"]
        source = {"component": component, **({"host": self._host} if self._host else {})}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{self._last:x}",
                "namespace": metadata.get("namespace") or "default",
            },
            "involvedObject": {key: value for key, value in concerned.items() if value},
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": kind,
            "reportingComponent": component,
            "reportingInstance": self._host,
        }

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        while True:
            write = await self._waiting.get()
            for _ in range(TRIES):
                try:
                    await self._write(write)
                except ApiError as refused:
                    # The namespace is going away, say: another try would not help.
                    self._log.debug(2, "event refused", error=str(refused))
                except (ConnectionError, TimeoutError):
                    await self._clock.sleep(RETRY_SECONDS)
                    continue
                break

    async def _write(self, write: Write) -> None:
        namespace = write.event["metadata"]["namespace"]
        if write.patch is not None:
            try:
                await self._client.patch(EVENTS, write.name, write.patch, namespace, patch_type="strategic")
                return
            except ApiError as refused:
                if refused.reason != "NotFound":
                    raise
        await self._client.create(EVENTS, write.event, namespace)
