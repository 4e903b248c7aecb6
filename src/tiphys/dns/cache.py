"""What other resolvers said, for as long as they said it holds, and half a minute at most. Core."""

from collections import OrderedDict
from dataclasses import dataclass

from tiphys.dns import wire
from tiphys.dns.wire import NAME_ERROR, NO_ERROR, Malformed, Query

LONGEST = 30.0
KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    message: bytes
    times: tuple[tuple[int, int], ...]
    since: float
    until: float


class Cache:
    def __init__(self, kept: int = KEPT) -> None:
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._most = kept

    def get(self, asked: Query, now: float) -> bytes | None:
        """With the asker's number and spelling, and with what is left of each time to live."""
        key = _key(asked)
        found = self._kept.get(key)
        if found is None:
            return None
        if found.until <= now:
            del self._kept[key]
            return None
        answer = bytearray(found.message)
        answer[:2] = asked.data[:2]
        answer[12 : asked.end] = asked.data[12 : asked.end]
        gone = int(now - found.since)
        for at, seconds in found.times:
            answer[at : at + 4] = max(seconds - gone, 0).to_bytes(4, "big")
        return bytes(answer)

    def put(self, asked: Query, message: bytes, now: float) -> None:
        """Failures and answers that were cut are asked for again each time."""
        if len(message) < asked.end or message[2] & 2 or message[3] & 15 not in (NO_ERROR, NAME_ERROR):
            return
        try:
            times = wire.times_to_live(message)
        except Malformed:
            return
        shortest = min((seconds for _, seconds in times), default=0)
        if not shortest:
            return
        # An answer may be longer in our hands than its TTL only if we told so; ours are never longer.
        key = _key(asked)
        self._kept[key] = Kept(message, times, now, now + min(shortest, LONGEST))
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _key(asked: Query) -> bytes:
    """All that was asked but the number: an answer with EDNS is not for somebody who does not know it."""
    return asked.data[2:12] + asked.key + asked.data[asked.end :]
