"""The kubelet as a part of a process, with its server and its certificates, over the runtime that the process has."""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.http.messages import Handler as Handling
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import start
from tiphys.base.tls import Pair, Subject
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.kubelet_identity import Files
from tiphys.cmd.kubelet_renewal import Renewal
from tiphys.cmd.process import cannot_listen
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.loop import Kubelet
from tiphys.kubelet.pods.sandbox_config import HostDns
from tiphys.kubelet.server.handler import Handler
from tiphys.kubelet.server.service import KubeletServer
from tiphys.machinery.zpages import ZPages


@dataclass(frozen=True, slots=True)
class Identity:
    access: Access
    """As which it asks the API server."""
    files: Files


def logger(clock: Clock, verbosity: int) -> Logger:
    return Logger(Log(verbosity=verbosity, clock=clock), "kubelet", {})


class KubeletPart:
    def __init__(
        self, config: KubeletConfig, identity: Identity, runtime: Runtime, pages: ZPages, clock: Clock, log: Logger
    ) -> None:
        """Raises Unusable where its certificates cannot be read."""
        self._config = config
        self.client = self._client = RestClient(identity.access, clock=clock, user_agent="tiphys-kubelet")
        self._kubelet = Kubelet(config, self._client, runtime, clock, log)
        self._log = log
        handler = self._handler = Handler(self._kubelet, self._client, runtime, clock, config.settings, pages)
        pair, authority = _serving(config, identity, clock)
        self._server = KubeletServer(handler, pair, authority)
        self._renewal = Renewal(config, identity.access, self._client, self._server, identity.files, clock, log)

    async def run(self, ready: Callable[[], None]) -> None:
        settings, agent = self._config.settings, self._kubelet.agent
        try:
            if settings["enableServer"]:
                agent.port = await self._listen(settings["address"])
                await self._listen_plainly(settings["address"], settings.get("readOnlyPort", 0), self._handler.without_asking)
            await self._listen_plainly(settings["healthzBindAddress"], settings["healthzPort"], self._handler.health)
            async with asyncio.TaskGroup() as group:
                await start(group, self._renewal.run, name="certificates")
                await start(group, self._server.run, name="server")
                await start(group, self._kubelet.run, name="kubelet")
                ready()
        finally:
            self._client.close()

    async def _listen_plainly(self, host: str, port: int, handler: Handling) -> None:
        """A port that is taken is no reason not to run pods."""
        if not port:
            return
        try:
            await self._server.listen_plainly(host, port, handler)
        except OSError as problem:
            self._log.warning("a port cannot be served", host=host, port=port, problem=problem.strerror or str(problem))

    async def _listen(self, host: str) -> int:
        try:
            return await self._server.listen(host, self._config.port)
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE and self._config.or_any_port:
                return await self._server.listen(host, 0)
            raise cannot_listen(problem, host, self._config.port) from None


def _serving(config: KubeletConfig, identity: Identity, clock: Clock) -> tuple[Pair, bytes]:
    """The server's certificate to begin with, and who signs those of its clients."""
    settings = config.settings
    named = settings["authentication"]["x509"].get("clientCAFile")
    try:
        authority = Path(named).read_bytes() if named else identity.access.authority
        if not settings.get("tlsCertFile"):
            kept = identity.files.server.load() if settings.get("serverTLSBootstrap") else None
            return kept or self_signed(config, clock), authority
        if not settings.get("tlsPrivateKeyFile"):
            raise Unusable("--tls-cert-file needs --tls-private-key-file")
        return tls.load(Path(settings["tlsCertFile"]), Path(settings["tlsPrivateKeyFile"])), authority
    except OSError as problem:
        raise Unusable(f"cannot read {problem.filename}: {problem.strerror}") from None


def self_signed(config: KubeletConfig, clock: Clock) -> Pair:
    """For a server that was given no certificate: as upstream's kubelet, whose clients take any."""
    now = clock.now()
    authority = tls.make_authority(f"{config.node}-ca", now=now)
    return tls.issue(authority, Subject(config.node), ["server"], now=now, names=[config.node, *config.addresses])


def host_dns(file: Path) -> HostDns:
    """What pods inherit that do not ask the cluster's DNS."""
    told: dict[str, list[str]] = {"nameserver": [], "search": [], "options": []}
    if file.is_file():
        for line in file.read_text().splitlines():
            words = line.split("#", 1)[0].split()
            if words and words[0] in told:
                told[words[0]] = [*told[words[0]], *words[1:]] if words[0] == "nameserver" else words[1:]
    return HostDns(tuple(told["nameserver"]), tuple(told["search"]), tuple(told["options"]))
