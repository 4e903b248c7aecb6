"""The pods' network of a node as a service: follows the Nodes, and brings this node's kernel and its runtime after them."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client.informer import Informer
from tiphys.client.interface import Client
from tiphys.cni import config, kernel, masquerade, table
from tiphys.cni.config import PodLinks
from tiphys.cni.kernel import Refused
from tiphys.cni.plan import Here, Peer, Wanted, overlay_number, peer, plan, pod_mtu
from tiphys.cni.table import Content
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj, get

BATCH_SECONDS = 0.05
LOOK_SECONDS = 30.0
"""How often the kernel is asked whether all is still there: routes go with links that go down for a moment."""
RETRY_SECONDS = 1.0
LONGEST_RETRY = 30.0

Troubles = (ApiError, ConnectionError, TimeoutError, Refused, OSError)


@dataclass(frozen=True, slots=True)
class Settings:
    node: str
    addresses: tuple[str, ...]
    """Of the node, as other nodes reach it; the first is its own."""
    mark: int
    """A number that no other cluster on this machine has."""
    bridge: str = ""
    """Of this node's pods; empty: this machine is no node, and only wants to reach those of the nodes."""
    files: Path = Path("/etc/cni/net.d")
    """Where the runtime looks how to give pods their network."""
    given: Path = Path("/var/lib/cni/networks")
    """Where host-local keeps which addresses are taken."""

    @property
    def table(self) -> str:
        return f"inet tiphys-pods-{self.mark:08x}"

    @property
    def policy_table(self) -> str:
        return f"inet tiphys-policies-{self.mark:08x}"


def overlay(mark: int) -> str:
    """The name of its device."""
    return f"tpx{mark:08x}"


def metric(mark: int) -> int:
    """Of routes: large, so that whatever else leads there goes first, and ours."""
    return 0x54000000 | mark & 0xFFFFFF


class PodNetwork:
    """`run(ready)`: ready once pods reach those of every node that is known. What it made goes with `remove`, not when it ends:
    pods outlive the process of their node."""

    def __init__(self, client: Client, settings: Settings, clock: Clock, log: Logger) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._log = log
        self._peers: dict[str, Peer] = {}
        self._told = ""
        """The condition that the Node was given last."""
        self._number = 0
        self._routes = kernel.Routes(metric(settings.mark), overlay(settings.mark))
        self._written: Content | None = None
        """What the kernel's table has; None: in doubt."""
        self._work = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> None:
        nodes = Informer(self._client, NODES, self._clock, random.random, self._log, keep=_of_a_node)
        nodes.add_handler(self._node)
        async with asyncio.TaskGroup() as group:
            await start(group, nodes.run, name="nodes")
            await self._keep_up(ready)

    def _node(self, old: Obj | None, new: Obj | None) -> None:
        name = meta.name(new or old or {})
        now = peer(new) if new is not None else None
        if now == self._peers.get(name):
            return
        if now is None:
            self._peers.pop(name, None)
        else:
            self._peers[name] = now
        self._work.set()

    async def _keep_up(self, ready: Callable[[], None]) -> None:
        retry = RETRY_SECONDS
        while True:
            self._work.clear()
            try:
                await self._bring_up_to_date()
            except Troubles as problem:
                self._log.error("the pods' network is not as it should be", error=str(problem))
                self._written = None
                await self._tell(str(problem))
                await self._clock.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
                continue
            retry = RETRY_SECONDS
            ready()
            await self._clock.sleep(BATCH_SECONDS)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._work.wait()
            except TimeoutError:
                continue

    async def _bring_up_to_date(self) -> None:
        settings = self._settings
        own = self._peers.get(settings.node)
        ranges = own.ranges if own is not None and settings.bridge else ()
        links = await asyncio.to_thread(kernel.links_of, settings.addresses)
        device = overlay(settings.mark)
        wanted = plan(Here(settings.node, ranges, links, device, self._number), self._peers.values())
        if wanted.overlay is not None and not self._number:
            self._number = overlay_number(await self._cluster())
            wanted = plan(Here(settings.node, ranges, links, device, self._number), self._peers.values())
        changes = await asyncio.to_thread(self._routes.bring, wanted)
        if changes:
            self._log.debug(1, "routes to the pods of other nodes", routes=len(wanted.routes), changes=changes)
        if wanted.unreached:
            self._log.warning("no address leads to these nodes", nodes=sorted(wanted.unreached))
        if ranges:
            await asyncio.to_thread(kernel.forward, ranges)
            await self._masquerade(ranges, wanted)
            links_of_pods = PodLinks(settings.bridge, ranges, settings.given, pod_mtu(links, wanted.overlay))
            await asyncio.to_thread(write, settings.files, links_of_pods)
            await self._tell("")

    async def _masquerade(self, ranges: tuple[str, ...], wanted: Wanted) -> None:
        content = masquerade.content(ranges, wanted.pods)
        before, self._written = self._written, None
        if before is None:
            await kernel.nft(table.create(self._settings.table, content))
        elif text := table.change(self._settings.table, before, content).text:
            await kernel.nft(text)
        self._written = content

    async def _cluster(self) -> str:
        found = await self._client.list(NAMESPACES, fields="metadata.name=kube-system")
        return meta.uid(found.items[0])

    async def _tell(self, problem: str) -> None:
        """The condition NetworkUnavailable of the Node: while there is no network, no pods are to come here."""
        if self._told == (problem or "up") or not self._settings.bridge:
            return
        try:
            await self._client.patch(
                NODES,
                self._settings.node,
                {"status": {"conditions": [condition(problem, self._clock.now())]}},
                patch_type="strategic",
                subresource="status",
            )
        except (ApiError, ConnectionError, TimeoutError) as error:
            self._log.warning("the node's condition NetworkUnavailable is not written", error=str(error))
        else:
            self._told = problem or "up"


def condition(problem: str, now: float) -> Obj:
    """In the words of upstream's route controller (staging/src/k8s.io/cloud-provider/controllers/route/route_controller.go)."""
    return {
        "type": "NetworkUnavailable",
        "status": "True" if problem else "False",
        "reason": "NoRouteCreated" if problem else "RouteCreated",
        "message": problem or "pods reach those of the other nodes",
        "lastHeartbeatTime": rfc3339(now),
        "lastTransitionTime": rfc3339(now),
    }


def write(files: Path, links: PodLinks) -> None:
    """What the runtime is told, if it is not what it was told before."""
    files.mkdir(parents=True, exist_ok=True)
    for name, content in ((config.FILE, config.network(links)), (config.LOOPBACK_FILE, config.LOOPBACK)):
        told = orjson.dumps(content, option=orjson.OPT_INDENT_2)
        file = files / name
        if file.exists() and file.read_bytes() == told:
            continue
        fresh = file.with_suffix(".new")
        fresh.write_bytes(told)
        fresh.replace(file)


async def remove(settings: Settings) -> None:
    """Everything of this network that the kernel still has."""
    await asyncio.to_thread(kernel.Routes(metric(settings.mark), overlay(settings.mark)).remove)
    if settings.bridge:
        await asyncio.to_thread(kernel.remove_link, settings.bridge)
    await kernel.nft(table.delete(settings.table) + table.delete(settings.policy_table))


def _of_a_node(node: Obj) -> Obj:
    """Nodes are many and large; little of them matters here."""
    metadata = {name: node["metadata"][name] for name in ("name", "uid", "resourceVersion") if name in node["metadata"]}
    spec = {name: node["spec"][name] for name in ("podCIDR", "podCIDRs") if name in node.get("spec", {})}
    return {"metadata": metadata, "spec": spec, "status": {"addresses": get(node, ("status", "addresses"), [])}}
