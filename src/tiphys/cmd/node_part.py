"""The node process beside the control plane of `tiphys up`: its credentials, its start, its end, and its start anew."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.log import log
from tiphys.base.tls import Pair, Subject, write_private
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.cmd import network_rights
from tiphys.cmd.addresses import own_address
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.enclosure import Enclosure
from tiphys.kubelet.node.facts import hostname

PATIENCE = 25.0
"""How long the node may take to stop its pods and clean up."""
_AGAIN = 0.2
_LONGEST_AGAIN = 30.0
_WORKED_SECONDS = 5.0
"""Whoever worked that long has not failed to start."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The names of the files by which a node joins, in its folder."""

    bootstrap: str = "bootstrap.kubeconfig"
    kubeconfig: str = "kubelet.kubeconfig"
    """Made when it has."""
    settings: str = "kubelet-config.yaml"


JOINED = Joined()


@dataclass(frozen=True, slots=True)
class NodeWish:
    folder: Path
    server: str
    authority: Pair | None
    """Of the cluster; None: the node joins, with what its folder has (see Joined)."""
    name: str = field(default_factory=hostname)
    addresses: tuple[str, ...] = field(default_factory=lambda: (own_address(),))
    pod_ranges: tuple[str, ...] = ()
    """Empty: whatever the cluster gives the node."""
    cni: str = "tiphys"
    enclosure: Enclosure | None = None
    """A network namespace of its own; None: it has the machine's."""
    verbosity: int = 0
    dns_ip: str = ""
    """The address of the cluster's DNS; empty: this node answers no names."""
    with_proxy: bool = True
    proxy_mode: str = "nftables"
    runtime_endpoint: str = ""
    """Of a container runtime that is there already; empty: the node brings its own."""
    arguments: tuple[str, ...] = ()
    """More of `tiphys node`'s."""


def prepare(wish: NodeWish, clock: Clock) -> list[str]:
    """Writes the node's credentials; the command that starts it."""
    command = [sys.executable, "-m", "tiphys.cmd.main", "node", "--dir", str(wish.folder), "--fail-swap-on=false"]
    command += _joining(wish.folder) if wish.authority is None else _issued(wish, wish.authority, clock.now())
    command += ["--node-ip", ",".join(wish.addresses), "--pod-cidr", ",".join(wish.pod_ranges), "--cni", wish.cni]
    command += ["--proxy-mode", wish.proxy_mode] if wish.with_proxy else ["--no-proxy"]
    if wish.enclosure is not None:
        command = [*wish.enclosure.prefix(wish.folder), *command, "--uplink", wish.enclosure.uplink()]
    if wish.runtime_endpoint:
        command += ["--container-runtime-endpoint", wish.runtime_endpoint]
    return [
        *command,
        "--hostname-override",
        wish.name,
        "-v",
        str(wish.verbosity),
        "--end-with-stdin",
        "--port",
        "10250",
        # Several nodes may share the machine's own network.
        *(() if wish.enclosure is not None else ("--or-any-port",)),
        *wish.arguments,
    ]


def _issued(wish: NodeWish, authority: Pair, now: float) -> list[str]:
    pki = wish.folder / "pki"
    user = Subject(f"system:node:{wish.name}", ("system:nodes",))
    names = [wish.name, "localhost", "127.0.0.1", *wish.addresses]
    tls.save(tls.issue(authority, user, ["server"], now=now, names=names), pki / "server.crt", pki / "server.key")
    files = {"node": pki / "kubeconfig", "network": pki / "network.kubeconfig"}
    for name, subject in (("node", user), ("network", Subject(network_rights.USER))):
        access = Access(wish.server, authority.certificate, tls.issue(authority, subject, ["client"], now=now))
        write_private(files[name], kubeconfig.render(kubeconfig.context_of(name, access)))
    return [
        *("--kubeconfig", str(files["node"]), "--network-kubeconfig", str(files["network"]), "--cluster-dns", wish.dns_ip),
        *("--tls-cert-file", str(pki / "server.crt"), "--tls-private-key-file", str(pki / "server.key")),
    ]


def _joining(folder: Path) -> list[str]:
    """A certificate that it asks for itself, and renews; its network is what all nodes are."""
    own = str(folder / JOINED.kubeconfig)
    return [
        *("--kubeconfig", own, "--network-kubeconfig", own, "--config", str(folder / JOINED.settings)),
        *("--bootstrap-kubeconfig", str(folder / JOINED.bootstrap), "--rotate-certificates=true"),
    ]


class NodeProcess:
    def __init__(self, wish: NodeWish, clock: Clock, began_anew: Callable[[], None] = lambda: None) -> None:
        """`began_anew`: called when it has another pid than before."""
        self.wish = wish
        self._clock = clock
        self._began_anew = began_anew
        self._works = False
        self.pid = 0

    async def run(self, ready: Callable[[], None]) -> None:
        """Ready once the node works; raises Unusable if it cannot. One that dies later begins anew, with its containers."""
        wait = _AGAIN

        def works() -> None:
            if self._works:
                self._began_anew()
            self._works = True
            ready()

        while True:
            began = self._clock.monotonic()
            try:
                await self._once(works)
            except Unusable as problem:
                if not self._works:
                    raise
                wait = _AGAIN if self._clock.monotonic() - began > _WORKED_SECONDS else min(2 * wait, _LONGEST_AGAIN)
                log.named("node").error("the node is started again", node=self.wish.name, error=str(problem), seconds=wait)
            await self._clock.sleep(wait)

    async def _once(self, ready: Callable[[], None]) -> None:
        """Always ends with Unusable, or by being cancelled."""
        command = await asyncio.to_thread(prepare, self.wish, self._clock)
        with (self.wish.folder / "node.log").open("ab") as written:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=written, start_new_session=True
            )
        self.pid = process.pid
        try:
            if self.wish.enclosure is not None:
                await asyncio.to_thread(self.wish.enclosure.attach, process.pid)
            if process.stdout is None or not await process.stdout.readline():
                await process.wait()
                raise Unusable(f"the node did not start: {self._last_words()}")
            ready()
            code = await process.wait()
            raise Unusable(f"the node ended with {code}: {self._last_words()}")
        finally:
            await _end(process)

    def _last_words(self) -> str:
        lines = (self.wish.folder / "node.log").read_text(errors="replace").splitlines()
        return lines[-1].removeprefix("error: ") if lines else "it said nothing"


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
