"""The controllers of a process together: one set of informers, one recorder, a runner for each controller."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.metrics import Registry
from tiphys.base.tasks import start
from tiphys.client.informer import Informers
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.controllers.controller import Controller
from tiphys.controllers.runner import WORKERS, Runner


class Manager:
    """`run(ready)`: ready once the caches are filled and every controller is at work."""

    def __init__(
        self,
        client: Client,
        controllers: Sequence[Controller[Any]],
        clock: Clock,
        chance: Callable[[], float],
        metrics: Registry,
        log: Logger,
        workers: Mapping[str, int] = {},
    ) -> None:
        """`workers`: by name of a controller, how many keys it works on at a time; WORKERS where not told."""
        self.informers = Informers(client, clock, chance, log)
        self.recorder = Recorder(client, clock, log)
        shared = (client, self.informers, self.recorder, clock, metrics, log)
        self.runners = [Runner(each, *shared, workers.get(each.name, WORKERS)) for each in controllers]

    async def run(self, ready: Callable[[], None]) -> None:
        for runner in self.runners:
            runner.connect()
        async with asyncio.TaskGroup() as group:
            await start(group, self.recorder.run, name="event recorder")
            await start(group, self.informers.run, name="informers")
            for runner in self.runners:
                await start(group, runner.run, name=runner.controller.name)
            ready()
