"""Runs one controller: key -> observe -> reconcile -> apply, and all the habits that no controller should repeat.

A turn that writes nothing costs no task. One that writes holds its key until the writes are answered; the key is then not
looked at again before the caches have seen them (read your writes), so that a decision never acts on a world that its own
last plan has already changed.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.metrics import Registry
from tiphys.client.cache import Cache
from tiphys.client.informer import Informers
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.client.workqueue import WorkQueue
from tiphys.controllers import kinds
from tiphys.controllers.applying import Applier, Debt
from tiphys.controllers.controller import Caches, Controller, Watch, named
from tiphys.controllers.metrics import QueueMetrics
from tiphys.controllers.plan import Plan
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

WORKERS = 10
"""Where nobody says how many."""
REMEMBERED = 256
YIELD_EVERY = 32
"""Turns after which others may run."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One entry of the record: when, which key, what woke it, what it wrote, how it ended."""

    at: float
    key: str
    cause: str
    wrote: tuple[str, ...]
    outcome: str


class Runner:
    def __init__(
        self,
        controller: Controller[Any],
        client: Client,
        informers: Informers,
        recorder: Recorder,
        clock: Clock,
        metrics: Registry,
        log: Logger,
        workers: int = WORKERS,
    ) -> None:
        """`workers`: keys whose plans are being applied at a time."""
        self.controller = controller
        self._workers = workers
        self.history: deque[Turn] = deque(maxlen=REMEMBERED)
        self._client = client
        self._informers = informers
        self._clock = clock
        self._log = log.named(controller.name)
        self.queue = WorkQueue()
        self._metrics = QueueMetrics(metrics, controller.name, self.queue, clock.monotonic)
        self._applier = Applier(client, recorder, controller.component, controller.inquiries)
        self._causes: dict[str, str] = {}
        self._debts: dict[str, list[Debt]] = {}
        self._parked: set[str] = set()
        """Keys that are due, but whose writes the caches have yet to see."""
        self._wake = asyncio.Event()
        self._caches: dict[tuple[str, str], Cache] = {}
        self.caches = Caches(self._caches)

    def connect(self) -> None:
        """To the caches it watches; before the informers run."""
        caches: dict[tuple[str, str], Cache] = {}
        for watch in self.controller.watches:
            informer = self._informers.of(watch.kind, keep=watch.keep)
            for name, function in watch.indexes.items():
                informer.cache.index(name, function)
            caches[named(watch.kind)] = informer.cache
        self.caches.of = self._caches = caches
        for watch in self.controller.watches:
            self._listen(watch)
        if self.controller.custom is not None:
            definitions = self._informers.of(CUSTOM_RESOURCE_DEFINITIONS)
            definitions.add_handler(self._definition_changed)

    def _listen(self, watch: Watch) -> None:
        informer = self._informers.of(watch.kind, keep=watch.keep)
        informer.add_handler(self._handler(watch))
        informer.add_progress(self._progressed)

    def _definition_changed(self, old: Obj | None, new: Obj | None) -> None:
        """Controllers of everything follow the kinds that come and go."""
        kind = kinds.of_definition(new) if new is not None else None
        before = kinds.of_definition(old) if old is not None else None
        if kind is not None and named(kind) not in self._caches and self.controller.custom is not None:
            watch = self.controller.custom(kind)
            self._caches[named(kind)] = self._informers.of(kind, keep=watch.keep).cache
            self._listen(watch)
        elif kind is None and before is not None:
            self._caches.pop(named(before), None)
            # A definition goes after the objects of its kind; one that is not served for now keeps them.
            self._informers.drop(before, gone=new is None)

    def _handler(self, watch: Watch) -> Callable[[Obj | None, Obj | None], None]:
        def changed(old: Obj | None, new: Obj | None) -> None:
            if watch.heard is not None and new is not None:
                watch.heard(new, self._clock.now())
            keys = watch.keys(old, new, self.caches)
            for key in keys:
                obj = new if new is not None else old
                assert obj is not None
                what = "gone" if new is None else "new" if old is None else "changed"
                self.wake(key, f"{watch.kind.kind} {meta.key(obj)} {what}", watch.delay)

        return changed

    def state(self, key: str) -> str:
        """Of a key, in a word or two."""
        if key in self._parked or key in self._debts:
            return "waiting for the caches to see what was written"
        return self.queue.state(key, self._clock.monotonic())

    def wake(self, key: str, cause: str, delay: float = 0.0) -> None:
        self._causes.setdefault(key, cause)
        now = self._clock.monotonic()
        if delay:
            self.queue.add_after(key, delay, now)
        else:
            self.queue.add(key, now)
        self._wake.set()

    def _progressed(self, _: Cache) -> None:
        """Keys that waited for this cache to see what they wrote may go on."""
        if not self._debts:
            return
        self._settle([key for key, debts in self._debts.items() if all(debt.paid(self.caches.of) for debt in debts)])

    def _settle(self, keys: list[str]) -> None:
        for key in keys:
            del self._debts[key]
            if key in self._parked:
                self._parked.discard(key)
                self.queue.add(key, self._clock.monotonic())
                self._wake.set()

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            turns = 0
            while True:
                now = self._clock.monotonic()
                taken = self.queue.take(now) if self.queue.working < self._workers else None
                if taken is None:
                    self._wake.clear()
                    due = self.queue.next_at() if self.queue.working < self._workers else None
                    timer = loop.call_later(max(0.0, due - now), self._wake.set) if due is not None else None
                    await self._wake.wait()
                    if timer is not None:
                        timer.cancel()
                    continue
                key, waited = taken
                self._metrics.taken(waited)
                self._turn(key, group, now)
                turns += 1
                if turns % YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    def _turn(self, key: str, group: asyncio.TaskGroup, began: float) -> None:
        if key in self._debts:
            self._parked.add(key)
            self.queue.done(key)
            return
        cause = self._causes.pop(key, "its time has come")
        try:
            plan = self._decide(key)
        except Exception as bug:  # noqa: BLE001 - the one place of the controllers where our own bugs are contained
            self._log.exception("reconcile failed", bug, key=key)
            self._finish(key, began, cause, (), None, f"{type(bug).__name__}: {bug}")
            return
        if plan.writes:
            group.create_task(self._apply(key, began, cause, plan), name=f"{self.controller.name} {key}")
        else:
            self._finish(key, began, cause, (), plan.again_in, plan.retry)

    def _decide(self, key: str) -> Plan:
        world = self.controller.observe(key, self.caches, self._clock.now())
        self.caches.answers.pop(key, None)
        if world is None:
            self.caches.failures.pop(key, None)
            return Plan()
        return self.controller.reconcile(world)

    async def _apply(self, key: str, began: float, cause: str, plan: Plan) -> None:
        try:
            outcome = await self._applier.apply(plan.writes)
        except Exception as bug:  # noqa: BLE001 - as above
            self._log.exception("applying a plan failed", bug, key=key)
            self._finish(key, began, cause, (), None, f"{type(bug).__name__}: {bug}")
            return
        if outcome.failure is None:
            self.caches.failures.pop(key, None)
        else:
            self.caches.failures[key] = outcome.failure
        if outcome.answered:
            self.caches.answers[key] = outcome.answer
            self.wake(key, "its inquiry was answered")
        owed = [debt for debt in outcome.debts if not debt.paid(self.caches.of)]
        if owed:
            self._debts[key] = owed
        trouble = plan.retry
        if outcome.failure is not None:
            error = outcome.failure.error
            trouble = str(error)
            if not isinstance(error, ApiError) or error.reason not in ("Conflict", "AlreadyExists", "NotFound"):
                self._log.debug(1, "a write failed", key=key, error=trouble)
        self._finish(key, began, cause, outcome.wrote, plan.again_in, trouble, half=outcome.answered)

    def _finish(
        self,
        key: str,
        began: float,
        cause: str,
        wrote: tuple[str, ...],
        again_in: float | None,
        trouble: str,
        *,
        half: bool = False,
    ) -> None:
        """`half`: it has only inquired; whether that leads anywhere is for the next turn to say, and so is the back-off."""
        now = self._clock.monotonic()
        if trouble:
            self.queue.retry(key, now)
            self._causes.setdefault(key, f"retry: {trouble}")
        else:
            if not half:
                self.queue.forget(key)
            if again_in is not None:
                self.queue.add_after(key, again_in, now)
        self.queue.done(key)
        self._metrics.worked(now - began)
        if wrote or trouble:
            self.history.append(Turn(self._clock.now(), key, cause, wrote, trouble or "done"))
        self._wake.set()
