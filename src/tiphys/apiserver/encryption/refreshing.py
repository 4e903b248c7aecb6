"""Key management services are asked from time to time whether their key is still the same."""

import asyncio

from tiphys.apiserver.encryption.configuration import Encryption
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.store.interface import Unavailable

PAUSE = 60.0


async def keep_refreshing(encryption: Encryption, clock: Clock, log: Logger) -> None:
    """Runs until it is cancelled. A service that does not answer is no reason to stop: its last key is still good."""
    while True:
        await clock.sleep(PAUSE)
        try:
            await asyncio.to_thread(encryption.refresh)
        except Unavailable as problem:
            log.warning("a key management service cannot be asked for its key", problem=str(problem))
