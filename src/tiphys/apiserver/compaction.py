"""History is kept for a while and then forgotten: lists and watches may look back five to ten minutes, as upstream's."""

from tiphys.base.clock import Clock
from tiphys.store.interface import Store, Unavailable

EVERY = 300.0


async def keep_compacting(store: Store, clock: Clock, every: float = EVERY) -> None:
    """Until cancelled: forget what was already old when this last looked."""
    seen = store.revision
    while True:
        await clock.sleep(every)
        if seen > store.oldest:
            try:
                await store.compact(seen)
            except Unavailable:
                # Away for a while; what is old now will be so at the next turn.
                continue
        seen = store.revision
