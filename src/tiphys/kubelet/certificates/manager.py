"""Asks for a certificate, waits until somebody approved and signed it, keeps it, and does so again before it ends."""

from collections.abc import Callable
from dataclasses import dataclass

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.base import tls_requests
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tls import Pair
from tiphys.client.interface import Client
from tiphys.kubelet.certificates.files import Store
from tiphys.kubelet.certificates.wish import Rejected, Wish, due, outcome, request_object, serves
from tiphys.machinery.errors import ApiError

_WAIT_SECONDS = 900.0
"""For an answer to one request; then there is another."""
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 5.0
_AGAIN_SECONDS, _LONGEST_AGAIN = 2.0, 300.0
_LOOK_AT_NAMES = 60.0

Troubles = (Rejected, ApiError, ConnectionError, TimeoutError)


async def ask(client: Client, wish: Wish, key: bytes, clock: Clock, *, name: str = "", wait: float = _WAIT_SECONDS) -> bytes:
    """The certificate for `key`, PEM. Raises Rejected, ApiError, ConnectionError, TimeoutError."""
    wanted = request_object(wish, tls_requests.request(key, wish.subject, wish.names), name)
    try:
        made = await client.create(CERTIFICATE_SIGNING_REQUESTS, wanted)
    except ApiError as refused:
        if refused.reason != "AlreadyExists":
            raise
        made = await client.get(CERTIFICATE_SIGNING_REQUESTS, name)
    until, pause = clock.monotonic() + wait, _FIRST_LOOK
    while (certificate := outcome(made)) is None:
        if clock.monotonic() > until:
            raise TimeoutError(f"nobody signed certificate signing request {made['metadata']['name']}")
        await clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_LOOK)
        made = await client.get(CERTIFICATE_SIGNING_REQUESTS, made["metadata"]["name"])
    return certificate


@dataclass(slots=True)
class Manager:
    """Of one certificate. `wish` is asked anew each time: the addresses of a node may change."""

    client: Client
    wish: Callable[[], Wish]
    store: Store
    clock: Clock
    log: Logger
    chance: Callable[[], float]
    changed: Callable[[Pair], None]
    """Told of each new one."""
    current: Pair | None = None

    async def run(self, ready: Callable[[], None]) -> None:
        """Ready at once: a kubelet works before its first certificate is signed."""
        ready()
        pause = _AGAIN_SECONDS
        while True:
            await self._until_due()
            try:
                await self._renew()
                pause = _AGAIN_SECONDS
            except Troubles as problem:
                self.log.warning("no new certificate yet", signer=self.wish().signer, problem=str(problem))
                await self.clock.sleep(pause * (1 + self.chance()))
                pause = min(2 * pause, _LONGEST_AGAIN)

    async def _until_due(self) -> None:
        if self.current is None:
            return
        said = tls_requests.said_by(self.current.certificate)
        at = due(said, self.chance())
        while serves(said, self.wish()) and (left := at - self.clock.now()) > 0:
            await self.clock.sleep(min(left, _LOOK_AT_NAMES))

    async def _renew(self) -> None:
        wish, key = self.wish(), tls_requests.new_key()
        pair = Pair(await ask(self.client, wish, key, self.clock), key)
        self.store.save(pair, self.clock.now())
        self.current = pair
        self.changed(pair)
        self.log.info("took a new certificate", signer=wish.signer, file=str(self.store.current))
