"""The runtime as the kubelet uses it: pods, containers and images as values, errors as RuntimeFailed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tiphys.kubelet.containerd.ctr import CtrFailed, end_task
from tiphys.kubelet.cri.connection import Connection, RuntimeFailed, protos
from tiphys.kubelet.cri.observed import (
    CONTAINER_NAME,
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
    Container,
    ObservedPod,
    Sandbox,
    State,
)

_STATES: dict[int, State] = {0: "created", 1: "running", 2: "exited", 3: "unknown"}
_NANO = 1e9


@dataclass(frozen=True, slots=True)
class Image:
    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    size: int
    user: str
    """Numeric or a name; empty is root."""
    pinned: bool = False
    """The runtime wants to keep it."""

    @property
    def reference(self) -> str:
        """By which it can be found: what names it in just one version first."""
        return next(iter((*self.digests, *self.tags)), self.id)


@dataclass(frozen=True, slots=True)
class Executed:
    exit_code: int
    output: bytes


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of the runtime's lists: enough to notice that something changed."""

    pod_uid: str
    pod_name: str
    namespace: str
    id: str
    state: str
    is_sandbox: bool


class Runtime:
    """Made inside a running event loop; `close` it there."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._connection = Connection(socket)
        self._protos = protos()

    def tell_calls(self, told: Callable[[str, float, bool], None]) -> None:
        """`told` each call's name, seconds, and whether it failed."""
        self._connection.told = told

    async def close(self) -> None:
        await self._connection.close()

    async def _call(self, name: str, seconds: float = 120.0, **fields: Any) -> Any:
        method = self._protos.services["RuntimeService"][name]
        return await self._connection.call("RuntimeService", name, method.request(**fields), seconds)

    async def _image_call(self, name: str, seconds: float = 120.0, **fields: Any) -> Any:
        method = self._protos.services["ImageService"][name]
        return await self._connection.call("ImageService", name, method.request(**fields), seconds)

    # The runtime itself.

    async def version(self) -> tuple[str, str]:
        """Its name and version."""
        found = await self._call("Version", 5.0)
        return found.runtime_name, found.runtime_version

    async def problems(self) -> list[str]:
        """What keeps it from running pods, as upstream words it in the Ready condition; empty where nothing does."""
        found = await self._call("Status", 5.0)
        held = {each.type: each for each in found.status.conditions}
        problems = []
        for name, words in (("RuntimeReady", "container runtime"), ("NetworkReady", "container runtime network")):
            condition = held.get(name)
            if condition is None:
                problems.append(f"{words} status unknown")
            elif not condition.status:
                told = f"{name}=false reason:{condition.reason} message:{condition.message}"
                problems.append(f"{words} not ready: {told}")
        return problems

    # What is there.

    async def seen(self) -> list[Seen]:
        sandboxes = (await self._call("ListPodSandbox")).items
        found = [
            Seen(
                each.metadata.uid,
                each.metadata.name,
                each.metadata.namespace,
                each.id,
                "ready" if each.state == 0 else "gone",
                True,
            )
            for each in sandboxes
        ]
        for each in (await self._call("ListContainers")).containers:
            labels = each.labels
            if POD_UID in labels:
                found.append(
                    Seen(labels[POD_UID], labels[POD_NAME], labels[POD_NAMESPACE], each.id, _STATES[each.state], False)
                )
        return found

    async def observe(self, uid: str) -> ObservedPod:
        selector = {POD_UID: uid}
        listed = (await self._call("ListPodSandbox", filter={"label_selector": selector})).items
        sandboxes = [await self._sandbox(each) for each in listed]
        containers = (await self._call("ListContainers", filter={"label_selector": selector})).containers
        details = [await self._container(each.id, each.pod_sandbox_id) for each in containers]
        named = listed[0].metadata if listed else None
        labels = containers[0].labels if containers else {}
        return ObservedPod(
            uid,
            named.name if named else labels.get(POD_NAME, ""),
            named.namespace if named else labels.get(POD_NAMESPACE, ""),
            tuple(sorted((each for each in sandboxes if each), key=lambda each: (-each.created_at, -each.attempt))),
            tuple(sorted((each for each in details if each), key=lambda each: (-each.created_at, -each.attempt))),
        )

    async def _sandbox(self, listed: Any) -> Sandbox | None:
        addresses: tuple[str, ...] = ()
        if listed.state == 0:
            try:
                status = (await self._call("PodSandboxStatus", pod_sandbox_id=listed.id)).status
            except RuntimeFailed as failed:
                if failed.not_found:
                    return None
                raise
            network = status.network
            addresses = tuple(filter(None, (network.ip, *(each.ip for each in network.additional_ips))))
        return Sandbox(listed.id, listed.metadata.attempt, listed.state == 0, listed.created_at / _NANO, addresses)

    async def _container(self, container_id: str, sandbox_id: str) -> Container | None:
        try:
            status = (await self._call("ContainerStatus", container_id=container_id)).status
        except RuntimeFailed as failed:
            if failed.not_found:
                return None
            raise
        return Container(
            id=status.id,
            name=status.labels.get(CONTAINER_NAME, status.metadata.name),
            attempt=status.metadata.attempt,
            state=_STATES[status.state],
            created_at=status.created_at / _NANO,
            started_at=status.started_at / _NANO,
            finished_at=status.finished_at / _NANO,
            exit_code=status.exit_code,
            reason=status.reason,
            message=status.message,
            image=status.image.image,
            image_id=status.image_ref,
            sandbox_id=sandbox_id,
            log_path=status.log_path,
            annotations=dict(status.annotations),
        )

    async def network_namespaces(self) -> dict[str, str]:
        """Of every sandbox that it knows, by id: the file that keeps its network namespace; empty where it has none."""
        found: dict[str, str] = {}
        for each in (await self._call("ListPodSandbox")).items:
            try:
                told = (await self._call("PodSandboxStatus", pod_sandbox_id=each.id, verbose=True)).info.get("info")
            except RuntimeFailed as failed:
                if failed.not_found:
                    continue
                raise
            spec = (orjson.loads(told) if told else {}).get("runtimeSpec") or {}
            spaces = (spec.get("linux") or {}).get("namespaces") or ()
            found[each.id] = next((space.get("path") or "" for space in spaces if space["type"] == "network"), "")
        return found

    async def sandbox_of_containers(self) -> dict[str, str]:
        """The sandbox of every container that it knows, by id."""
        return {each.id: each.pod_sandbox_id for each in (await self._call("ListContainers")).containers}

    # Sandboxes and containers.

    async def run_sandbox(self, config: Mapping[str, Any], handler: str = "") -> str:
        answer = await self._call("RunPodSandbox", 240.0, config=config, runtime_handler=handler)
        return str(answer.pod_sandbox_id)

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._tolerant("StopPodSandbox", pod_sandbox_id=sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self._tolerant("RemovePodSandbox", pod_sandbox_id=sandbox_id)

    async def create_container(self, sandbox_id: str, config: Mapping[str, Any], sandbox: Mapping[str, Any]) -> str:
        answer = await self._call("CreateContainer", pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox)
        return str(answer.container_id)

    async def start_container(self, container_id: str) -> None:
        await self._call("StartContainer", container_id=container_id)

    async def update_container(self, container_id: str, resources: Mapping[str, Any]) -> None:
        await self._call("UpdateContainerResources", container_id=container_id, linux=resources)

    async def stop_container(self, container_id: str, grace: float) -> None:
        """SIGTERM, and SIGKILL after `grace` seconds; returns when it is gone."""
        seconds = int(grace)
        await self._tolerant("StopContainer", 120.0 + seconds, container_id=container_id, timeout=seconds)

    async def remove_container(self, container_id: str) -> None:
        try:
            await self._tolerant("RemoveContainer", container_id=container_id)
        except RuntimeFailed as failed:
            if not failed.still_runs:
                raise
            # A containerd that was killed at the wrong moment takes it for ended, and would never end it.
            try:
                await end_task(self.socket, container_id)
            except (CtrFailed, TimeoutError):
                raise failed from None
            await self._tolerant("RemoveContainer", container_id=container_id)

    async def _tolerant(self, name: str, seconds: float = 120.0, **fields: Any) -> None:
        """What is gone already needs no ending."""
        try:
            await self._call(name, seconds, **fields)
        except RuntimeFailed as failed:
            if not failed.not_found:
                raise

    async def reopen_log(self, container_id: str) -> None:
        """Write to the file of that name from now on, which is a new one."""
        await self._call("ReopenContainerLog", container_id=container_id)

    async def writable_layers(self) -> dict[str, tuple[int, int]]:
        """Of each container: the bytes and inodes that it has written over its image."""
        found = (await self._call("ListContainerStats")).stats
        return {
            each.attributes.id: (each.writable_layer.used_bytes.value, each.writable_layer.inodes_used.value) for each in found
        }

    # Commands in containers.

    async def execute(self, container_id: str, command: Iterable[str], timeout: float) -> Executed:
        """`timeout` 0 is none. Raises RuntimeFailed with `late` when it is over."""
        seconds = int(timeout)
        found = await self._call(
            "ExecSync", timeout + 5.0 if timeout else 3600.0, container_id=container_id, cmd=list(command), timeout=seconds
        )
        return Executed(found.exit_code, found.stdout + found.stderr)

    async def streaming(self, name: str, **fields: Any) -> str:
        """The URL on which the runtime serves an Exec, Attach or PortForward."""
        return str((await self._call(name, **fields)).url)

    # Images.

    async def image(self, reference: str) -> Image | None:
        answer = await self._image_call("ImageStatus", image={"image": reference})
        if not answer.HasField("image"):
            return None
        return _image(answer.image)

    async def images(self) -> list[Image]:
        return [_image(each) for each in (await self._image_call("ListImages")).images]

    async def remove_image(self, image_id: str) -> None:
        await self._image_call("RemoveImage", image={"image": image_id})

    async def image_file_system(self) -> str:
        """A folder on it; empty where the runtime does not say."""
        found = (await self._image_call("ImageFsInfo")).image_filesystems
        return str(found[0].fs_id.mountpoint) if found else ""

    async def images_in_use(self) -> set[str]:
        """Names or ids of those that containers were made from, and of the one that sandboxes are."""
        containers = (await self._call("ListContainers")).containers
        used = {name for each in containers for name in (each.image_ref, each.image.image)}
        told = (await self._call("Status", verbose=True)).info.get("config")
        if told:
            used.add(orjson.loads(told).get("sandboxImage") or "")
        return used - {""}

    async def pull(self, reference: str, auth: Mapping[str, str] | None = None) -> str:
        answer = await self._image_call("PullImage", 1800.0, image={"image": reference}, auth=auth)
        return str(answer.image_ref)


def _image(found: Any) -> Image:
    user = found.username or (str(found.uid.value) if found.HasField("uid") else "")
    return Image(found.id, tuple(found.repo_tags), tuple(found.repo_digests), found.size, user, found.pinned)
