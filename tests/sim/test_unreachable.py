"""An API server that does not answer is told of, once: whoever starts a part alone would wait without knowing for what."""

import asyncio
import random

from tests.cluster import ADMIN, open_cluster
from tests.virtual_loop import run

from tiphys.api.core.nodes import NODES
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import cancel, spawn
from tiphys.client.informer import Informer

REFUSED = "cannot connect to 127.0.0.1:1: connection refused"


class Away:
    """A server that is not there yet."""

    def __init__(self, client) -> None:
        self.client, self.is_away = client, True

    async def watch(self, *arguments, **named):
        if self.is_away:
            raise ConnectionError(REFUSED)
        async for each in self.client.watch(*arguments, **named):
            yield each

    async def list(self, *arguments, **named):
        if self.is_away:
            raise ConnectionError(REFUSED)
        return await self.client.list(*arguments, **named)


def test_it_is_told_once():
    async def whole() -> None:
        written = []
        async with open_cluster([]) as cluster, asyncio.TaskGroup() as group:
            log = Logger(Log(verbosity=0, clock=cluster.clock, write=written.append), "test", {})
            server = Away(cluster.client(ADMIN, "test"))
            informer = Informer(server, NODES, cluster.clock, random.Random(1).random, log)
            task = spawn(group, informer.run(lambda: None), name="nodes")
            await cluster.settle(120)
            assert [REFUSED in each for each in written] == [True]
            server.is_away = False
            await cluster.settle(120)
            assert informer.synced
            assert len(written) == 1
            await cancel(task)

    run(whole())
