"""Something in the server that mirrors a bucket of the store: told of every object now, then of every change as it commits."""

from collections.abc import Callable, Sequence

from tiphys.machinery.record import Record
from tiphys.store.interface import Event, Store, Subscription


async def follow(
    store: Store, bucket: str, on_set: Callable[[Record], None], on_remove: Callable[[Record], None]
) -> Subscription:
    """The callbacks run inside the commit: what they update is right for the very next request."""
    listing = await store.list(bucket)
    for record in listing.records:
        on_set(record)

    def deliver(events: Sequence[Event], revision: int) -> None:  # noqa: ARG001 - a Watcher is told
        for event in events:
            if event.deleted:
                on_remove(event.record)
            else:
                on_set(event.record)

    return store.watch(bucket, "", listing.revision, deliver)
