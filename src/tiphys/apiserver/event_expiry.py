"""Events are news: what nobody has repeated for a while goes, so that the store does not grow with the age of a cluster.

Upstream lets etcd end their leases. Here the API server looks from time to time, whatever the store; of several servers one
is the first, and the others find nothing left to do.
"""

from contextlib import suppress

from tiphys.api.core.events import EVENTS, last_told
from tiphys.base.clock import Clock
from tiphys.machinery.record import Record
from tiphys.store.interface import Delete, Mismatch, Store, Unavailable

TTL = 3600.0
"""Upstream's default."""
EVERY = 60.0


class Expiry:
    """What is known of the events: when each was told last. Each version of one is decoded once."""

    def __init__(self, store: Store, ttl: float) -> None:
        self._store = store
        self._ttl = ttl
        self._told: dict[str, tuple[int, float]] = {}

    async def look(self, now: float) -> None:
        listing = await self._store.list(EVENTS.prefix)
        self._told = {record.name: self._heard(record) for record in listing.records}
        for name, (revision, told) in self._told.items():
            if told + self._ttl <= now:
                await self._forget(name, revision)

    def _heard(self, record: Record) -> tuple[int, float]:
        known = self._told.get(record.name)
        if known is not None and known[0] == record.revision:
            return known
        return record.revision, last_told(record.tree())

    async def _forget(self, name: str, revision: int) -> None:
        try:
            await self._store.write([Delete(EVENTS.prefix, name, revision)])
        except Mismatch:
            return  # told again, or gone, in this very moment


async def keep_expiring(store: Store, clock: Clock, ttl: float = TTL, every: float = EVERY) -> None:
    """Until cancelled. Without a `ttl`, events stay for good."""
    expiry = Expiry(store, ttl)
    while True:
        await clock.sleep(every)
        if ttl > 0:
            # A store that is away says so itself.
            with suppress(Unavailable):
                await expiry.look(clock.now())
