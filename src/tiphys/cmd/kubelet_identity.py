"""How a kubelet comes by its credentials: from its kubeconfig, or with a bootstrap token and a request that is signed."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from tiphys.base import tls, tls_requests
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tls import Pair
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access, BadConfig
from tiphys.client.rest import RestClient
from tiphys.cmd.data_directory import Unusable
from tiphys.kubelet.certificates import wish as wishes
from tiphys.kubelet.certificates.files import Store
from tiphys.kubelet.certificates.manager import ask
from tiphys.kubelet.certificates.wish import Rejected
from tiphys.machinery.errors import ApiError

_PATIENCE = 3600.0
"""For somebody who approves by hand."""
_RETRY, _LONGEST_RETRY = 1.0, 15.0


@dataclass(frozen=True, slots=True)
class Files:
    kubeconfig: Path
    bootstrap: Path | None
    certificates: Path
    """The folder."""

    @property
    def client(self) -> Store:
        return Store(self.certificates, "kubelet-client")

    @property
    def server(self) -> Store:
        return Store(self.certificates, "kubelet-server")


async def access(files: Files, node: str, clock: Clock, log: Logger) -> Access:
    """Where the API is and who this node is there; joins the cluster first where that is asked for. Raises Unusable."""
    if files.bootstrap is None:
        return read(files.kubeconfig)
    if (found := _still_good(files.kubeconfig, clock.now())) is not None:
        return found
    token = read(files.bootstrap)
    pair = files.client.load()
    if pair is None or tls.expires_at(pair.certificate) <= clock.now():
        pair = await _join(token, files, node, clock, log)
    joined = replace(token, token="", token_file="", pair=pair)
    await asyncio.to_thread(_write, joined, files)
    return joined


def read(file: Path) -> Access:
    """What a kubeconfig says. Raises Unusable."""
    try:
        return kubeconfig.resolve(kubeconfig.read(file))
    except (BadConfig, OSError) as problem:
        raise Unusable(str(problem)) from None


def _still_good(file: Path, now: float) -> Access | None:
    """A kubeconfig with a certificate that has not ended."""
    try:
        found = kubeconfig.resolve(kubeconfig.read(file))
        good = found.pair is not None and tls.expires_at(found.pair.certificate) > now
    except (BadConfig, OSError, ValueError):
        return None
    return found if good else None


async def _join(token: Access, files: Files, node: str, clock: Clock, log: Logger) -> Pair:
    key = await asyncio.to_thread(files.client.begun, tls_requests.new_key())
    wish = wishes.client(node)
    name = f"node-csr-{tls_requests.digested(key, wish.subject, wish.usages)}"
    client = RestClient(token, clock=clock, user_agent="tiphys-kubelet")
    log.info("asking for a certificate with the bootstrap token", request=name, server=token.server)
    pause = _RETRY
    try:
        while True:
            try:
                pair = Pair(await ask(client, wish, key, clock, name=name, wait=_PATIENCE), key)
                break
            except (ConnectionError, TimeoutError) as problem:
                log.warning("the API server does not answer yet", problem=str(problem))
                await clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_RETRY)
    except (Rejected, ApiError) as problem:
        raise Unusable(f"this node cannot join: {problem}") from None
    finally:
        await client.closed()
    await asyncio.to_thread(files.client.save, pair, clock.now())
    return pair


def _write(joined: Access, files: Files) -> None:
    """The certificate by its path, which renewing leaves as it is."""
    made = kubeconfig.context_of("default", replace(joined, pair=None))
    path = str(files.client.current)
    made["users"][0]["user"] = {"client-certificate": path, "client-key": path}
    tls.write_private(files.kubeconfig, kubeconfig.render(made))
