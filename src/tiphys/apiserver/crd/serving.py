"""Follows the stored definitions: what they describe is served from the commit on that accepts their names, and no longer than
they are there.

The catalogue changes inside the commits themselves, so that whoever hears that a definition is established finds its kind.
Everything else (conditions, deleting the objects of a definition that goes) is written by `run`, one definition at a time.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tiphys.api.apiextensions.conditions import condition, is_true, with_condition
from tiphys.api.apiextensions.customresourcedefinitions import CLEANUP, CUSTOM_RESOURCE_DEFINITIONS
from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.call import Backend, Call
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.crd.kinds import kinds_of
from tiphys.apiserver.crd.names import status_of
from tiphys.apiserver.following import follow
from tiphys.apiserver.request import RequestInfo
from tiphys.apiserver.rest import delete
from tiphys.base.http.messages import Request
from tiphys.base.log import Logger
from tiphys.client.interface import Client
from tiphys.client.workqueue import WorkQueue
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Unavailable

AGENT = "kube-apiserver"
SERVER = User("system:apiserver", (MASTERS, "system:authenticated"))
LOOK_AGAIN = 1.0
"""Seconds after which objects that wait for their finalizers are looked for again."""


class Definitions:
    """Constructed, it has done nothing; `run` is a service."""

    def __init__(self, backend: Backend, client: Client, log: Logger) -> None:
        self._backend = backend
        self._client = client
        self._log = log
        self._known: dict[str, Obj] = {}
        self._served: dict[str, tuple[Any, Sequence[Served]]] = {}
        self._queue = WorkQueue()
        self._more = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> None:
        subscription = await follow(self._backend.store, CUSTOM_RESOURCE_DEFINITIONS.prefix, self._set, self._remove)
        try:
            ready()
            while True:
                await self._turn(await self._next())
        finally:
            subscription.close()

    # Inside of commits: nothing here waits.

    def _set(self, record: Record) -> None:
        definition = record.tree()
        self._known[record.name] = definition
        self._serve(record.name, definition)
        self._add(record.name)

    def _remove(self, record: Record) -> None:
        definition = self._known.pop(record.name, None)
        self._serve(record.name, None)
        # The names that it had may be what others wait for.
        for name, other in self._known.items():
            if definition is not None and other["spec"]["group"] == definition["spec"]["group"]:
                self._add(name)

    def _add(self, name: str) -> None:
        self._queue.add(name, self._backend.clock.monotonic())
        self._more.set()

    def _serve(self, name: str, definition: Obj | None) -> None:
        told = _what_matters(definition) if definition is not None else None
        before, old = self._served.get(name, (None, ()))
        if told == before:
            return
        catalogue = self._backend.catalogue
        for served in old:
            catalogue.remove(served.kind)
        new = []
        for served in kinds_of(definition, catalogue.schemas) if definition is not None else ():
            kind = served.kind
            # What is built in stays so.
            if catalogue.at(kind.group, kind.version, kind.plural) is None and catalogue.by_gvk(*kind.gvk) is None:
                catalogue.add(served)
                new.append(served)
        self._served[name] = told, new
        if definition is None:
            del self._served[name]

    # One definition after the other.

    async def _next(self) -> str:
        clock = self._backend.clock
        while True:
            taken = self._queue.take(clock.monotonic())
            if taken is not None:
                return taken[0]
            self._more.clear()
            due = self._queue.next_at()
            try:
                async with asyncio.timeout(None if due is None else max(due - clock.monotonic(), 0)):
                    await self._more.wait()
            except TimeoutError:
                continue

    async def _turn(self, name: str) -> None:
        now = self._backend.clock.monotonic
        try:
            again_in = await self._settle(name)
        except ApiError as refused:
            # Somebody was faster: the news of that is on its way.
            if refused.code not in (404, 409):
                self._log.warning("definition not settled", name=name, problem=str(refused))
                self._queue.retry(name, now())
        except Unavailable:
            self._queue.retry(name, now())
        except Exception as bug:  # noqa: BLE001 - our own bugs are contained here, so that other definitions go on
            self._log.exception("definition not settled", bug, name=name)
            self._queue.retry(name, now())
        else:
            self._queue.forget(name)
            if again_in:
                self._queue.add_after(name, again_in, now())
        finally:
            self._queue.done(name)

    async def _settle(self, name: str) -> float:
        """Seconds after which to look again; 0: when it changes."""
        definition = self._known.get(name)
        if definition is None:
            return 0
        if meta.is_deleting(definition):
            return await self._clean_up(definition) if CLEANUP in meta.finalizers(definition) else 0
        group = definition["spec"]["group"]
        others = [each for key, each in self._known.items() if key != name and each["spec"]["group"] == group]
        status = status_of(definition, others, self._backend.clock.now())
        if status != definition.get("status"):
            await self._write(definition, status)
        return 0

    async def _write(self, definition: Obj, status: Obj, *, without_finalizer: bool = False) -> None:
        new = {**definition, "status": status}
        if without_finalizer:
            kept = [each for each in meta.finalizers(definition) if each != CLEANUP]
            new["metadata"] = {**definition["metadata"], "finalizers": kept}
        await self._client.update(CUSTOM_RESOURCE_DEFINITIONS, new, subresource="status")

    async def _clean_up(self, definition: Obj) -> float:
        now = self._backend.clock.now()
        status = definition.get("status") or {}
        if not is_true(definition, "Established"):
            told = with_condition(status, "Terminating", "False", "NeverEstablished", "resource was never established", now)
            await self._write(definition, told, without_finalizer=True)
            return 0
        if (condition(definition, "Terminating") or {}).get("reason") != "InstanceDeletionInProgress":
            message = "CustomResource deletion is in progress"
            await self._write(definition, _terminating(status, "InstanceDeletionInProgress", message, now))
            return 0
        if not await self._delete_objects(definition):
            return LOOK_AGAIN
        done = with_condition(status, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances", now)
        await self._write(definition, done, without_finalizer=True)
        return 0

    async def _delete_objects(self, definition: Obj) -> bool:
        """Whether none is left."""
        served = next(iter(kinds_of(definition, self._backend.catalogue.schemas, unserved=True)), None)
        if served is None:
            return True
        store = self._backend.store
        there = await store.list(served.kind.prefix)
        for namespace in sorted({record.namespace for record in there.records}):
            kind = served.kind
            info = RequestInfo("deletecollection", "", True, kind.group, kind.version, namespace, kind.plural)
            request, now = Request("DELETE", "", "", {"user-agent": AGENT}), self._backend.clock.now()
            await delete.delete_collection(Call(self._backend, request, info, {}, SERVER, served, now, {}))
        return not (await store.list(served.kind.prefix)).records


def _what_matters(definition: Obj) -> Any:
    """What makes a difference to how it is served."""
    status = definition.get("status") or {}
    return (
        definition["spec"],
        status.get("acceptedNames"),
        is_true(definition, "Established"),
        is_true(definition, "Terminating"),
    )


def _terminating(status: Obj, reason: str, message: str, now: float) -> Obj:
    return with_condition(status, "Terminating", "True", reason, message, now)
