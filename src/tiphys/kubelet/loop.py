"""The kubelet's loop: pods assigned to this node get a worker each; the workers are woken by the API, the runtime and time.

    the API (an informer on spec.nodeName) --\
    the runtime (a look each second, pleg)  ----> worker of the pod
    probes, back-offs, resyncs             --/    (its own timers)
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import spawn, start
from tiphys.client.informer import Informer
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.kubelet import orphans, pleg
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.housekeeping import Housekeeping
from tiphys.kubelet.image_puller import ImagePuller
from tiphys.kubelet.log_rotation import LogRotation
from tiphys.kubelet.node.agent import NodeAgent, Standing
from tiphys.kubelet.node.facts import facts
from tiphys.kubelet.node.news import News
from tiphys.kubelet.node.status import allocatable
from tiphys.kubelet.pods.admission import Place
from tiphys.kubelet.pods.allocation import Allocations
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.sandbox_config import Settings
from tiphys.kubelet.pods.stopping import remove_from_runtime
from tiphys.kubelet.pods.timeline import Timelines
from tiphys.kubelet.pods.worker import PodWorker
from tiphys.kubelet.probes.execute import Executor
from tiphys.kubelet.shutdown.logind import Logind
from tiphys.kubelet.shutdown.manager import Means, Shutdown
from tiphys.kubelet.shutdown.order import steps
from tiphys.kubelet.static.manifests import is_static, original
from tiphys.kubelet.static.source import StaticPods
from tiphys.kubelet.static.sources import sources_of
from tiphys.kubelet.stats.collector import Collector
from tiphys.kubelet.telemetry import Telemetry
from tiphys.kubelet.volumes import host
from tiphys.kubelet.volumes.images import ImageMounts
from tiphys.kubelet.volumes.manager import VolumeManager
from tiphys.machinery.meta import key
from tiphys.machinery.tree import Obj

RELIST_SECONDS = 1.0
_REST_SECONDS = 5.0
_RELIST_LATE = 180.0
_SWEEP_SECONDS = 10.0


class Kubelet:
    def __init__(self, config: KubeletConfig, client: Client, runtime: Runtime, clock: Clock, log: Logger) -> None:
        self._config = config
        self._runtime = runtime
        self._clock = clock
        self._log = log
        self._pods = Informer(client, PODS, clock, random.random, log, fields=f"spec.nodeName={config.node}")
        self._services = Informer(client, SERVICES, clock, random.random, log)
        self._nodes = Informer(client, NODES, clock, random.random, log, fields=f"metadata.name={config.node}")
        self._client = client
        self._node: Obj = {"metadata": {"name": config.node, "resourceVersion": "0"}}
        self._recorder = Recorder(client, clock, log, host=config.node)
        self._group: asyncio.TaskGroup
        self.workers: dict[str, PodWorker] = {}
        self._relisted = clock.monotonic()
        config.root.mkdir(parents=True, exist_ok=True)
        config.logs.mkdir(parents=True, exist_ok=True)
        machine = facts(config.root)
        self.house = Housekeeping(config, runtime, machine, self._recorder, self.workers.values, clock, log)
        means = Means(Logind.connect, lambda: list(self.workers.values()), lambda: self.agent.report(), self._tell_normal)
        self.shutdown = Shutdown(steps(config.settings), means, clock, log)
        self.agent = NodeAgent(
            config,
            client,
            runtime,
            machine,
            clock,
            log,
            Standing(lambda: self.house.eviction.pressures, lambda: self.shutdown.begun, self._own_node, self._tell),
        )
        self.telemetry = Telemetry(config.node)
        self.telemetry.watch(self._running)
        runtime.tell_calls(lambda name, seconds, failed: self.telemetry.called(name, seconds, failed=failed))
        self.collector = Collector(config, machine, runtime, clock, self._observed)
        sources = sources_of(config, clock, log)
        self._static = StaticPods(sources, client, clock, log) if sources else None
        self._log_rotation = LogRotation(config, runtime, clock, log, self._observed)
        self.context = Context(
            config=config,
            settings=Settings(
                node=config.node,
                logs=config.logs,
                cgroup_root=config.cgroup_root,
                cluster_domain=config.cluster_domain,
                cluster_dns=config.cluster_dns,
                host_dns=config.host_dns,
            ),
            client=client,
            runtime=runtime,
            clock=clock,
            log=log,
            recorder=self._recorder,
            volumes=VolumeManager(client, clock, lambda: _stamp(clock.now())),
            images=ImagePuller(runtime, config.settings, clock),
            image_mounts=ImageMounts(runtime.socket),
            executor=Executor(runtime, "1.36"),
            telemetry=self.telemetry,
            services=self._services.cache,
            memory=machine.memory,
            chance=random.random,
            allocations=Allocations(self._place, self._wake),
            timelines=Timelines(clock.now),
            mirror_of=lambda pod: self._static.mirror_of(pod) if self._static is not None else None,
            look_at_node=self._look_at_node,
            allocatable=allocatable(config, machine),
        )

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            await start(group, self._recorder.run, name="events")
            await start(group, self.agent.run, name="node")
            await start(group, self._services.run, name="services")
            await start(group, self._nodes.run, name="node object")
            self._pods.add_handler(self._changed)
            await start(group, self._pods.run, name="pods")
            if self._static is not None:
                await start(
                    group, partial(self._static.run, self._static_changed, lambda: self._place().node), name="static pods"
                )
            await start(group, self._log_rotation.run, name="log rotation")
            spawn(group, self._relist(), name="pleg")
            await start(group, self.house.run, name="housekeeping")
            await start(group, self.shutdown.run, name="shutdown")
            ready()

    def _tell(self, news: News) -> None:
        """An event of the node."""
        name = self._config.node
        about: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        self._recorder.tell(about, "kubelet", *news)

    def _tell_normal(self, reason: str, message: str) -> None:
        self._tell(News("Normal", reason, message))

    def _own_node(self) -> Obj | None:
        """As the watch shows it."""
        return self._nodes.cache.get(self._config.node)

    def _place(self) -> Place:
        """This node for those who want to run here: as the watch shows it, or as it was last asked for."""
        seen = self._own_node()
        if seen is not None and int(seen["metadata"]["resourceVersion"]) >= int(self._node["metadata"]["resourceVersion"]):
            self._node = seen
        allowed = self._config.settings.get("allowedUnsafeSysctls") or ()
        return Place(self._node, self.house.eviction.pressures, tuple(allowed), self.shutdown.begun)

    async def _look_at_node(self) -> None:
        self._node = await self._client.get(NODES, self._config.node)

    def _wake(self, uid: str) -> None:
        if (worker := self.workers.get(uid)) is not None:
            worker.wake()

    def find(self, namespace: str, name: str, uid: str = "") -> PodWorker | None:
        """For the server: the pod of that name, or of that uid."""
        pod = self._pods.cache.get(f"{namespace}/{name}")
        if pod is None or (uid and uid not in (pod["metadata"]["uid"], original(pod))):
            return None
        return self.workers.get(original(pod) or pod["metadata"]["uid"])

    def _observed(self) -> list[tuple[Obj, ObservedPod]]:
        return [(worker.pod, worker.observed) for worker in self.workers.values()]

    def _running(self) -> tuple[int, dict[str, int]]:
        """Pods that run, and containers by their state."""
        observed = [worker.observed for worker in self.workers.values()]
        states = Counter(str(each.state) for pod in observed for each in pod.containers)
        return sum(1 for each in observed if each.sandbox is not None), dict(states)

    def late(self) -> str:
        """Why the loop is not well; empty where it is (pkg/kubelet/pleg/generic.go: Healthy)."""
        since = self._clock.monotonic() - self._relisted
        return f"pleg was last seen active {since:.0f}s ago; threshold is {_RELIST_LATE:.0f}s" if since > _RELIST_LATE else ""

    def pods(self) -> list[Obj]:
        return list(self._pods.cache)

    def _static_changed(self) -> None:
        """Those that are not wanted any more end; one of the same name begins when they have."""
        wanted = self._static.pods if self._static is not None else {}
        for uid, worker in list(self.workers.items()):
            if is_static(worker.pod) and uid not in wanted:
                worker.removed()
        names = {key(worker.pod) for worker in self.workers.values()}
        for pod in wanted.values():
            if key(pod) not in names:
                self._begin(pod)

    def _mirrored(self, old: Obj | None, new: Obj | None) -> None:
        """What mirrors a static pod is not run: it is where that pod's status is written."""
        shown = new or old
        if self._static is None or shown is None:
            return
        if new is None:
            self._static.mirrors.pop(key(shown), None)
        else:
            self._static.mirrors[key(shown)] = shown
        self._wake(original(shown))

    def _changed(self, old: Obj | None, new: Obj | None) -> None:
        if original(new or old or {"metadata": {}}):
            self._mirrored(old, new)
            return
        if new is None:
            if old is not None and (worker := self.workers.get(old["metadata"]["uid"])) is not None:
                worker.removed()
            return
        uid = new["metadata"]["uid"]
        known = self.workers.get(uid)
        if known is not None:
            known.learn(new)
            return
        self._begin(new)

    def _begin(self, pod: Obj) -> None:
        worker = self.workers[pod["metadata"]["uid"]] = PodWorker(self.context, pod, self._gone)
        spawn(self._group, self._work(worker), name=f"pod {key(pod)}")

    async def _work(self, worker: PodWorker) -> None:
        """What goes wrong with one pod stays with that pod."""
        while True:
            try:
                await worker.run()
            except Exception as error:  # noqa: BLE001 - the one place where the failures of a pod's worker end
                self._log.exception("a pod worker broke down; it begins anew", error, uid=worker.uid)
                await self._clock.sleep(_REST_SECONDS)
            else:
                return

    def _gone(self, uid: str) -> None:
        gone = self.workers.pop(uid, None)
        if gone is not None and is_static(gone.pod):
            self._static_changed()

    async def _relist(self) -> None:
        before: pleg.Snapshot = {}
        answers, swept = True, float("-inf")
        while True:
            try:
                began = self._clock.monotonic()
                seen = await self._runtime.seen()
            except RuntimeFailed as failed:
                if answers:
                    self._log.warning("the container runtime does not answer", error=str(failed))
                answers = False
                await self._clock.sleep(RELIST_SECONDS)
                continue
            if not answers:
                self._log.info("the container runtime answers again")
                answers = True
            self._relisted = self._clock.monotonic()
            self.telemetry.relist_seconds.observe(self._relisted - began)
            self.telemetry.last_seen.set(self._clock.now())
            after = pleg.snapshot((each.pod_uid, each.id, each.state) for each in seen)
            for uid in pleg.changed(before, after):
                if (worker := self.workers.get(uid)) is not None:
                    worker.wake()
            before = after
            for uid in after.keys() - self.workers.keys() if self._all_known() else ():
                await self._remove_orphan(uid)
            if self._all_known() and self._relisted >= swept + _SWEEP_SECONDS:
                swept = self._relisted
                await self._sweep(after)
            await self._clock.sleep(RELIST_SECONDS)

    def _all_known(self) -> bool:
        """Every source of pods has been heard: what runs beside those is wanted by nobody."""
        return self._static is None or self._static.known

    async def _remove_orphan(self, uid: str) -> None:
        """Of a pod that was deleted while no kubelet was here."""
        try:
            await remove_from_runtime(self._runtime, await self._runtime.observe(uid))
        except RuntimeFailed as failed:
            self._log.warning("a pod that nobody knows cannot be removed yet", uid=uid, error=str(failed))
            return
        await asyncio.to_thread(host.remove_tree, Path(self.context.folder(uid).path))

    async def _sweep(self, running: pleg.Snapshot) -> None:
        """Whatever lies around of pods that neither the API nor the runtime knows."""
        config = self._config
        found = await asyncio.to_thread(orphans.uids, config.root, config.logs, config.cgroup_root)
        for uid in found - running.keys() - self.workers.keys():
            try:
                await asyncio.to_thread(orphans.remove, uid, config.root, config.logs, config.cgroup_root)
            except OSError as problem:
                self._log.warning("what is left of a pod that nobody knows cannot be removed", uid=uid, error=str(problem))


def _stamp(now: float) -> str:
    """Names of payload folders: when they were made, and a number so that two of one second differ."""
    return f"{datetime.fromtimestamp(now, UTC):%Y_%m_%d_%H_%M_%S}.{random.randrange(1 << 31)}"
