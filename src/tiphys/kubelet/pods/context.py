"""What all workers of a node share."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.client.cache import Cache
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.kubelet import cgroups
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.image_puller import ImagePuller
from tiphys.kubelet.pods.allocation import Allocations
from tiphys.kubelet.pods.downward import FieldValues
from tiphys.kubelet.pods.sandbox_config import Settings
from tiphys.kubelet.pods.timeline import Timelines
from tiphys.kubelet.probes.execute import Executor
from tiphys.kubelet.telemetry import Telemetry
from tiphys.kubelet.volumes.images import ImageMounts
from tiphys.kubelet.volumes.manager import VolumeManager
from tiphys.kubelet.volumes.plan import PodFolder
from tiphys.machinery.tree import Obj

COMPONENT = "kubelet"


@dataclass(frozen=True, slots=True)
class Context:
    config: KubeletConfig
    settings: Settings
    client: Client
    runtime: Runtime
    clock: Clock
    log: Logger
    recorder: Recorder
    volumes: VolumeManager
    images: ImagePuller
    image_mounts: ImageMounts
    executor: Executor
    telemetry: Telemetry
    services: Cache
    memory: int
    """Bytes of the machine."""
    chance: Callable[[], float]
    allocations: Allocations
    timelines: Timelines
    mirror_of: Callable[[Obj], Obj | None]
    """Of a static pod: what the API shows of it, if that is there already."""
    look_at_node: Callable[[], Awaitable[None]]
    """Ask the API how this node is now."""
    allocatable: Mapping[str, str] = field(default_factory=dict)

    def folder(self, uid: str) -> PodFolder:
        return PodFolder(self.config.root / "pods" / uid)

    def values(self, addresses: tuple[str, ...]) -> FieldValues:
        return FieldValues(self.config.node, self.config.addresses, addresses, self.allocatable)

    def share_cpu(self) -> None:
        """The classes of quality get what their pods ask for now. On the spot: the sum that is written last is the newest."""
        cgroups.share(self.config.cgroup_root, self.allocations.pods())

    def tell(self, pod: Obj, kind: str, reason: str, message: str, container: Obj | None = None) -> None:
        """An event; about one of its containers where one is given."""
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]}
        if container is not None:
            lists = ("initContainers", "ephemeralContainers", "containers")
            found = next((name for name in lists if container in (pod["spec"].get(name) or ())), "containers")
            about["fieldPath"] = f"spec.{found}{{{container['name']}}}"
        self.recorder.tell(about, COMPONENT, kind, reason, message)
