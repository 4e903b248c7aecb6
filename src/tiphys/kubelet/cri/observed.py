"""What the runtime says of the pods on this node, as values. Times are seconds since the epoch; 0 is never."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["created", "running", "exited", "unknown"]

# How containers and sandboxes are marked, as upstream marks them (pkg/kubelet/types/labels.go): tools rely on it, and
# a kubelet that restarts knows its containers by it.
POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"
RESTART_COUNT = "io.kubernetes.container.restartCount"
CONTAINER_HASH = "io.kubernetes.container.hash"
MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"


@dataclass(frozen=True, slots=True)
class Container:
    id: str
    name: str
    attempt: int = 0
    state: State = "running"
    created_at: float = 0.0
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_id: str = ""
    sandbox_id: str = ""
    log_path: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def restarts(self) -> int:
        return int(self.annotations.get(RESTART_COUNT, self.attempt))

    @property
    def alive(self) -> bool:
        """An unknown state counts: something may be running."""
        return self.state in ("running", "unknown")


@dataclass(frozen=True, slots=True)
class Sandbox:
    id: str
    attempt: int = 0
    ready: bool = True
    created_at: float = 0.0
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """One pod in the runtime; sandboxes and containers with the newest first."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    @property
    def sandbox(self) -> Sandbox | None:
        """The one that counts: the newest, if it is ready."""
        newest = self.sandboxes[0] if self.sandboxes else None
        return newest if newest is not None and newest.ready else None

    @property
    def alive(self) -> bool:
        """Whether anything of it still runs."""
        return any(each.alive for each in self.containers) or any(each.ready for each in self.sandboxes)

    def newest(self, name: str) -> Container | None:
        """The last container of that name."""
        return next((each for each in self.containers if each.name == name), None)
