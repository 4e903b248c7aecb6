"""Informers: one watch a kind, shared by all controllers of the process; handlers are told what changed, in order."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Literal, cast

from tiphys.api.kind import Kind
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client import reflector
from tiphys.client.cache import Cache
from tiphys.client.interface import Client, Watched
from tiphys.client.lean import Lean
from tiphys.client.reflector import Apply, Ended, List, Page, Received, Replace, Started, State, Wait, Waited, Watch
from tiphys.client.rest import error_of_status
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

Handler = Callable[[Obj | None, Obj | None], None]
"""Before and after; None where it was not there. Must not wait, and must not change what it is given."""

Keep = Callable[[Obj], Obj]
"""What of an object is kept: itself, or less; managedFields never are (`lean.py`)."""

Progress = Callable[[Cache], None]
"""The cache has reached a further revision; handlers have been told."""

SHORTEST_WATCH = 300.0


class Informer:
    """`run(ready)` follows the server until it is cancelled; ready once the cache is filled."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        clock: Clock,
        chance: Callable[[], float],
        log: Logger,
        *,
        keep: Keep | None = None,
        fields: str = "",
        namespace: str = "",
    ) -> None:
        """`keep` says what of an object is kept (all of it by default); `fields` selects which objects are followed, and
        `namespace` where (everywhere by default)."""
        self.cache = Cache(kind)
        self.synced = False
        self._client = client
        self._clock = clock
        self._chance = chance
        self._log = log
        self._keeps = [keep] if keep is not None else []
        """Who wants how much of an object; empty: somebody wants all of it."""
        self._lean = Lean(kind)
        self._fields = fields
        self._namespace = namespace
        self._handlers: list[Handler] = []
        self._progress: list[Progress] = []
        self._state = State()
        self._failed_times = 0
        """Since something came last."""

    def also_for(self, keep: Keep | None) -> None:
        """Somebody else wants this much of each object."""
        if keep is None:
            self._keeps = []
        elif self._keeps and keep not in self._keeps:
            self._keeps.append(keep)

    def _kept(self, obj: Obj) -> Obj:
        """All of it if somebody wants that, else what the first one wants."""
        if not self._keeps:
            return obj
        kept = [keep(obj) for keep in self._keeps]
        return obj if any(each is obj for each in kept) else kept[0]

    def add_handler(self, handler: Handler) -> None:
        """It is told of what is there at once, then of every change."""
        self._handlers.append(handler)
        for obj in list(self.cache):
            handler(None, obj)

    def add_progress(self, told: Progress) -> None:
        self._progress.append(told)

    async def run(self, ready: Callable[[], None]) -> None:
        event: reflector.Event = Started()
        while True:
            for each in self._step(event):
                match each:
                    case List():
                        event = await self._list(each)
                    case Watch():
                        event = await self._watch(each, ready)
                    case Wait():
                        await self._clock.sleep(each.seconds * (1 + self._chance()))
                        event = Waited()
                    case _:
                        self._apply(each, ready)

    def _step(self, event: reflector.Event) -> tuple[reflector.Instruction, ...]:
        self._state, instructions = reflector.step(self._state, event, self._clock.monotonic())
        return instructions

    async def _list(self, asked: List) -> reflector.Event:
        try:
            found = await self._client.list(self.cache.kind, self._namespace, fields=self._fields, params=asked.params)
        except (ApiError, ConnectionError, TimeoutError) as error:
            return self._failed("list", error)
        return Page([self._lean.of(each) for each in found.items], found.revision, found.continue_token)

    async def _watch(self, asked: Watch, ready: Callable[[], None]) -> reflector.Event:
        # The server ends a watch sooner or later; each asks for its own time, so that they do not end together.
        seconds = SHORTEST_WATCH * (1 + self._chance())
        params = {**asked.params, "timeoutSeconds": str(int(seconds))}
        try:
            watched = self._client.watch(self.cache.kind, self._namespace, fields=self._fields, params=params)
            stream = cast("AsyncGenerator[Watched, None]", watched)
            async with aclosing(stream):
                async for event in stream:
                    self._failed_times = 0
                    if event.type == "ERROR":
                        return Ended(error_of_status(event.object))
                    if event.type != "BOOKMARK":
                        # At once: a list that streams in is never there twice.
                        event = Watched(event.type, self._lean.of(event.object))
                    for each in self._step(Received(event)):
                        self._apply(each, ready)
        except (ApiError, ConnectionError, TimeoutError) as error:
            return self._failed("watch", error)
        return Ended()

    def _failed(self, verb: str, error: ApiError | ConnectionError | TimeoutError) -> reflector.Event:
        self._failed_times += 1
        # Once is no news: a watch ends with its connection. Nor is what has been told already.
        tell = self._log.warning if self._failed_times == 2 else partial(self._log.debug, 1)
        tell("could not follow", verb=verb, kind=self.cache.kind.kind, error=str(error))
        return Ended(error if isinstance(error, ApiError | ConnectionError) else ConnectionError(str(error)))

    def _apply(self, what: reflector.Instruction, ready: Callable[[], None]) -> None:
        match what:
            case Replace():
                self._failed_times = 0
                self._replace(what.items)
                self._reached(what.revision)
                self.synced = True
                ready()
            case Apply():
                self._change(what.event.type, what.event.object)
                self._reached(what.revision)

    def _change(self, change: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"], obj: Obj) -> None:
        if change == "DELETED":
            old = self.cache.remove(meta.key(obj))
            if old is not None:
                self._tell(self._kept(obj), None)
        elif change != "BOOKMARK":
            new = self._kept(obj)
            self._tell_put(self.cache.put(new), new)

    def _tell_put(self, old: Obj | None, new: Obj) -> None:
        if old is not None and meta.uid(old) != meta.uid(new):
            # Deleted and made anew while nobody watched: they are two objects.
            self._tell(old, None)
            old = None
        self._tell(old, new)

    def _replace(self, items: list[Obj]) -> None:
        cache = self.cache
        gone = set(cache.keys())
        for item in items:
            new = self._kept(item)
            key = meta.key(new)
            gone.discard(key)
            known = cache.get(key)
            if known is None or meta.resource_version(known) != meta.resource_version(new):
                self._tell_put(cache.put(new), new)
        for key in gone:
            self._tell(cache.remove(key), None)

    def empty(self) -> None:
        """All that it has is gone."""
        self._replace([])

    def _reached(self, revision: int) -> None:
        self.cache.revision = revision
        for told in self._progress:
            told(self.cache)

    def _tell(self, old: Obj | None, new: Obj | None) -> None:
        for handler in self._handlers:
            handler(old, new)


class Informers:
    """The informers of a process, one a kind. `of` before `run` starts them together; after it, at once."""

    def __init__(self, client: Client, clock: Clock, chance: Callable[[], float], log: Logger) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._log = log
        self._informers: dict[tuple[str, str], Informer] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._late: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def of(self, kind: Kind, *, keep: Keep | None = None) -> Informer:
        """Whole objects, unless all who ask before it runs want less. An object of which anybody wants all is kept whole."""
        key = (kind.group, kind.plural)
        found = self._informers.get(key)
        if found is not None:
            found.also_for(keep)
        if found is None:
            found = Informer(self._client, kind, self._clock, self._chance, self._log, keep=keep)
            self._informers[key] = found
            self._late.put_nowait(key)
        return found

    def __iter__(self) -> Iterator[Informer]:
        return iter(self._informers.values())

    def known(self, kind: Kind) -> Informer | None:
        return self._informers.get((kind.group, kind.plural))

    def drop(self, kind: Kind, *, gone: bool = False) -> None:
        """The kind is no longer served. `gone`: its objects are not there any more either, which the handlers are told."""
        key = (kind.group, kind.plural)
        informer, task = self._informers.pop(key, None), self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
        if informer is not None and gone:
            informer.empty()

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            async with asyncio.TaskGroup() as together:
                while not self._late.empty():
                    together.create_task(self._start(group, self._late.get_nowait()))
            ready()
            while True:
                key = await self._late.get()
                informer = self._informers.get(key)
                if informer is not None:
                    self._tasks[key] = group.create_task(informer.run(lambda: None))

    async def _start(self, group: asyncio.TaskGroup, key: tuple[str, str]) -> None:
        informer = self._informers[key]
        self._tasks[key] = await start(group, informer.run, name=f"informer {key[1]}")
