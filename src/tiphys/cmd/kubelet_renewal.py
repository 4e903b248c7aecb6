"""Keeps the certificates of a running kubelet good: its client's and its server's, and whom it takes for a client."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import spawn, start
from tiphys.base.tls import Pair
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd.kubelet_identity import Files
from tiphys.cmd.watched_files import WatchedFiles, keep_looking
from tiphys.kubelet.certificates import wish
from tiphys.kubelet.certificates.manager import Manager
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.server.service import KubeletServer


@dataclass(frozen=True, slots=True)
class Renewal:
    config: KubeletConfig
    access: Access
    client: RestClient
    server: KubeletServer
    files: Files
    clock: Clock
    log: Logger

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            for each in self._managers():
                await start(group, each.run, name="certificate")
            spawn(group, keep_looking(self._watched(), self.clock, self.log), name="certificate files")
            ready()

    def _managers(self) -> list[Manager]:
        node, settings, made = self.config.node, self.config.settings, []
        if settings.get("rotateCertificates") and self.access.pair is not None:
            made.append(self._manager(lambda: wish.client(node), client=True))
        if settings.get("serverTLSBootstrap") and not settings.get("tlsCertFile"):
            made.append(self._manager(lambda: wish.serving(node, (node, *self.config.addresses)), client=False))
        return made

    def _manager(self, wanted: Callable[[], wish.Wish], *, client: bool) -> Manager:
        store = self.files.client if client else self.files.server
        current = self.access.pair if client else store.load()
        changed = self._present if client else self.server.show
        return Manager(self.client, wanted, store, self.clock, self.log, random.random, changed, current)

    def _present(self, pair: Pair) -> None:
        self.client.renew(replace(self.access, pair=pair))

    def _watched(self) -> list[WatchedFiles]:
        settings, found = self.config.settings, []
        if settings.get("tlsCertFile"):
            found.append(WatchedFiles((Path(settings["tlsCertFile"]), Path(settings["tlsPrivateKeyFile"])), self._take_pair))
        if authority := settings["authentication"]["x509"].get("clientCAFile"):
            found.append(WatchedFiles((Path(authority),), lambda content: self.server.trust(content[0])))
        return found

    def _take_pair(self, content: Sequence[bytes]) -> None:
        pair = Pair(content[0], content[1])
        if not tls.belongs(pair):
            raise ValueError("the key is not the certificate's")
        self.server.show(pair)
