"""Writes the Lease of `election.py`, and runs what only the leader may run."""

from collections.abc import Callable

from tiphys.api.coordination.leases import LEASES
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import Service, first_done
from tiphys.client import election
from tiphys.client.election import Candidate, Seen
from tiphys.client.interface import Client
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


class LostLeadership(Exception):
    """Somebody else leads now, or may: everything that this process did as a leader must end."""


class Leader:
    def __init__(self, client: Client, candidate: Candidate, clock: Clock, chance: Callable[[], float], log: Logger) -> None:
        self._client = client
        self._candidate = candidate
        self._clock = clock
        self._chance = chance
        self._log = log
        self._seen = Seen()
        self._told = ""
        """What has gone wrong, and is known."""

    async def lead(self, work: Service, ready: Callable[[], None]) -> None:
        """Wait for the lead, then run `work` for as long as it lasts. Raises LostLeadership."""
        while not await self._try():
            await self._clock.sleep(self._candidate.retry * (1 + 1.2 * self._chance()))
        self._log.info("leads", lease=self._candidate.name, identity=self._candidate.identity)
        try:
            await first_done(work(ready), self._keep())
        finally:
            await self._give_up()

    async def _keep(self) -> None:
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(self._candidate.retry)
            if await self._try():
                renewed = self._clock.monotonic()
            elif (
                not election.leads(self._candidate, self._seen)
                or self._clock.monotonic() - renewed > self._candidate.renew_within
            ):
                raise LostLeadership(f"the lease {self._candidate.name} could not be renewed")

    async def _try(self) -> bool:
        try:
            lease = await self._get()
            now = self._clock.monotonic()
            self._seen = election.look(self._seen, lease, now)
            wanted = election.claim(self._candidate, lease, self._seen, self._clock.now(), now)
            if wanted is None:
                return False
            written = await (
                self._client.create(LEASES, wanted, self._candidate.namespace)
                if lease is None
                else self._client.update(LEASES, wanted)
            )
        except (ApiError, ConnectionError, TimeoutError) as problem:
            if str(problem) != self._told:
                self._told = str(problem)
                self._log.warning("could not read or write the lease", lease=self._candidate.name, error=self._told)
            return False
        self._told = ""
        self._seen = election.look(self._seen, written, self._clock.monotonic())
        return True

    async def _get(self) -> Obj | None:
        try:
            return await self._client.get(LEASES, self._candidate.name, self._candidate.namespace)
        except ApiError as refused:
            if refused.reason != "NotFound":
                raise
            return None

    async def _give_up(self) -> None:
        try:
            lease = await self._get()
            freed = election.released(self._candidate, lease, self._clock.now()) if lease is not None else None
            if freed is not None:
                await self._client.update(LEASES, freed)
        except (ApiError, ConnectionError, TimeoutError) as problem:
            self._log.debug(1, "could not release the lease", error=str(problem))
