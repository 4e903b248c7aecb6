"""Starts a pod's sandbox and its containers: what `actions` decided, step by step, with upstream's events and words."""

import asyncio
from collections.abc import Callable
from pathlib import Path, PurePath

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.kind import Kind
from tiphys.api.node.runtimeclasses import RUNTIMECLASSES
from tiphys.kubelet import cgroups
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.cri.runtime import Image
from tiphys.kubelet.image_puller import NoImage, Tell
from tiphys.kubelet.names import domain, hostname, log_folder
from tiphys.kubelet.pods.container_config import Made, container_config
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.environment import CannotMake, Sources, environment, files_referenced, referenced
from tiphys.kubelet.pods.resizer import Resizer
from tiphys.kubelet.pods.sandbox_config import sandbox_config
from tiphys.kubelet.pods.timeline import Timeline
from tiphys.kubelet.probes.execute import Asked
from tiphys.kubelet.service_variables import service_variables
from tiphys.kubelet.status.containers import Trouble
from tiphys.kubelet.volumes import host, subpaths
from tiphys.kubelet.volumes.payload import NotReady
from tiphys.kubelet.volumes.plan import SubPath, hosts_file, mounts
from tiphys.machinery.tree import Obj

_LONGEST_ENV_FILE = _LONGEST_HOSTS = 1 << 20


class NotStarted(Exception):
    """A container did not start; what its status says."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


class Starter:
    """Of one pod."""

    def __init__(self, context: Context, uid: str, resizer: Resizer, timeline: Timeline) -> None:
        self._context = context
        self.timeline = timeline
        self._resizer = resizer
        self._folder = context.folder(uid)
        self.environments: dict[str, dict[str, str]] = {}
        """By container, of its last start: probes and hooks use the same."""

    async def sandbox(self, pod: Obj, attempt: int) -> None:
        """Raises RuntimeFailed, NotReady, CannotMake or OSError; each has had its event."""
        context = self._context
        try:
            with self.timeline.step("volumes"):
                await context.volumes.prepare(pod, self._folder, context.values(()))
        except (NotReady, CannotMake) as problem:
            context.tell(pod, "Warning", "FailedMount", str(problem))
            raise
        await self._told(pod, self._folders, "FailedToMakePodDataDirectories", "error making pod data directories")
        await self._told(pod, self._cgroups, "FailedCreatePodContainer", "unable to ensure pod container exists")
        context.share_cpu()
        try:
            handler = await self._handler(pod)
            config = sandbox_config(pod, attempt, context.settings, handler)
            with self.timeline.step("sandbox and network"):
                await context.runtime.run_sandbox(config, handler)
        except (RuntimeFailed, CannotMake) as failed:
            context.tell(pod, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failed}")
            raise

    async def _handler(self, pod: Obj) -> str:
        """Of the pod's RuntimeClass; raises CannotMake where there is none of that name."""
        name = pod["spec"].get("runtimeClassName")
        if not name:
            return ""
        found = await self._context.volumes.fetch(RUNTIMECLASSES, "", name)
        if found is None:
            raise CannotMake(f'failed to get sandbox runtime: failed to get RuntimeClass "{name}"')
        return str(found["handler"])

    async def _told(self, pod: Obj, work: Callable[[Obj], None], reason: str, words: str) -> None:
        """What the machine refuses is an event, too."""
        try:
            await asyncio.to_thread(work, pod)
        except OSError as problem:
            self._context.tell(pod, "Warning", reason, f"{words}: {problem}")
            raise

    def _folders(self, pod: Obj) -> None:
        Path(self._folder.path).mkdir(parents=True, exist_ok=True, mode=0o750)
        Path(log_folder(self._context.config.logs, pod)).mkdir(parents=True, exist_ok=True)

    def _cgroups(self, pod: Obj) -> None:
        cgroups.make(self._context.config.cgroup_root, pod, self._context.config.most_processes)

    async def container(self, pod: Obj, container: Obj, observed: ObservedPod) -> None:
        """Raises NotStarted."""
        context = self._context

        def tell(kind: str, reason: str, message: str) -> None:
            context.tell(pod, kind, reason, message, container)

        sandbox = observed.sandbox
        if sandbox is None:
            raise NotStarted(Trouble("ContainerCreating", ""))
        try:
            with self.timeline.step("image", container["name"]):
                secrets = await self._pull_secrets(pod)
                image = await context.images.ensure(pod, container, secrets, tell)
                await self._image_volumes(pod, container, secrets, tell)
        except NoImage as missing:
            raise NotStarted(missing.trouble) from missing
        addresses = context.config.addresses if pod["spec"].get("hostNetwork") else sandbox.addresses
        try:
            with self.timeline.step("environment and mounts", container["name"]):
                config = await self._config(pod, container, observed, addresses, image)
        except (CannotMake, OSError) as problem:
            context.tell(pod, "Warning", "Failed", f"Error: {problem}", container)
            raise NotStarted(Trouble("CreateContainerConfigError", str(problem))) from problem
        await self._run(pod, container, sandbox.id, config, addresses)

    async def _image_volumes(self, pod: Obj, container: Obj, secrets: list[Obj], tell: Tell) -> None:
        """Those that the container mounts."""
        mounted = {each["name"] for each in container.get("volumeMounts") or ()}
        for volume in pod["spec"].get("volumes") or ():
            source = volume.get("image") or {}
            if volume["name"] not in mounted or not source.get("reference"):
                continue
            asked = {"image": source["reference"], "imagePullPolicy": source.get("pullPolicy")}
            found = await self._context.images.ensure(pod, asked, secrets, tell)
            try:
                await self._context.image_mounts.mount(found.reference, self._folder.volume(volume))
            except CannotMake as problem:
                tell("Warning", "Failed", f"Error: {problem}")
                raise NotStarted(Trouble("CreateContainerError", str(problem))) from problem

    async def _run(self, pod: Obj, container: Obj, sandbox_id: str, config: Obj, addresses: tuple[str, ...]) -> None:
        context = self._context
        try:
            with self.timeline.step("create", container["name"]):
                sandbox = sandbox_config(pod, 0, context.settings)
                container_id = await context.runtime.create_container(sandbox_id, config, sandbox)
        except RuntimeFailed as failed:
            context.tell(pod, "Warning", "Failed", f"Error: {failed.args[0]}", container)
            raise NotStarted(Trouble("CreateContainerError", failed.args[0])) from failed
        context.tell(pod, "Normal", "Created", "Container created", container)
        try:
            with self.timeline.step("start", container["name"]):
                await context.runtime.start_container(container_id)
        except RuntimeFailed as failed:
            context.tell(pod, "Warning", "Failed", f"Error: {failed.args[0]}", container)
            raise NotStarted(Trouble("RunContainerError", failed.args[0])) from failed
        context.tell(pod, "Normal", "Started", "Container started", container)
        hook = (container.get("lifecycle") or {}).get("postStart")
        if hook:
            asked = self.asked(container, container_id, addresses)
            with self.timeline.step("postStart hook", container["name"]) as step:
                problem = step.problem = await context.executor.hook(asked, hook, 0.0)
            if problem:
                context.tell(pod, "Warning", "FailedPostStartHook", "PostStartHook failed", container)
                await context.runtime.stop_container(container_id, pod["spec"].get("terminationGracePeriodSeconds", 30))
                raise NotStarted(Trouble("PostStartHookError", problem))

    def asked(self, container: Obj, container_id: str, addresses: tuple[str, ...]) -> Asked:
        address = addresses[0] if addresses else ""
        return Asked(container, container_id, address, self.environments.get(container["name"], {}))

    async def _pull_secrets(self, pod: Obj) -> list[Obj]:
        wanted = pod["spec"].get("imagePullSecrets") or ()
        found = [await self._fetch(SECRETS, pod, each["name"]) for each in wanted]
        return [each for each in found if each is not None]

    async def _fetch(self, kind: Kind, pod: Obj, name: str) -> Obj | None:
        return await self._context.volumes.fetch(kind, pod["metadata"]["namespace"], name)

    async def _config(self, pod: Obj, container: Obj, observed: ObservedPod, addresses: tuple[str, ...], image: Image) -> Obj:
        context, name = self._context, container["name"]
        variables = environment(pod, container, await self._sources(pod, container), context.values(addresses))
        self.environments[name] = variables
        attempt, restarts = _next_run(pod, name, observed)
        made = mounts(pod, container, self._folder, attempt, variables)
        await asyncio.to_thread(self._files, pod, container, attempt, addresses, made)
        await self._resizer.started(pod, container, attempt)
        prepared = Made(attempt, restarts, image.id, image.user, variables, made, context.memory, _target(container, observed))
        return container_config(pod, container, prepared)

    def _files(self, pod: Obj, container: Obj, attempt: int, addresses: tuple[str, ...], made: list[Obj]) -> None:
        config = self._context.config
        own = host.read_start(PurePath("/etc/hosts"), _LONGEST_HOSTS).decode(errors="replace")
        text = hosts_file(pod, addresses, hostname(pod, config.node), domain(pod, config.cluster_domain), own)
        host.write_text(self._folder.hosts, text)
        if container.get("terminationMessagePath"):
            host.make_message_file(self._folder.message(container["name"], attempt))
        for index, mount in enumerate(made):
            wish = mount.pop("sub_path", None)
            if isinstance(wish, SubPath):
                mount["host_path"] = subpaths.mount_part(wish, self._folder.part(container["name"], wish.volume, index))
        Path(log_folder(config.logs, pod), container["name"]).mkdir(parents=True, exist_ok=True)

    def _env_files(self, pod: Obj, container: Obj) -> dict[tuple[str, str], str]:
        volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
        found: dict[tuple[str, str], str] = {}
        for name, path in files_referenced(container):
            if name not in volumes:
                raise CannotMake(f'cannot find the volume "{name}" referenced by FileKeyRef')
            read = subpaths.read_part(SubPath(self._folder.volume(volumes[name]), path), _LONGEST_ENV_FILE)
            found[name, path] = read.decode(errors="replace")
        return found

    async def _sources(self, pod: Obj, container: Obj) -> Sources:
        maps, secrets = referenced(container)
        found_maps = {name: await self._fetch(CONFIG_MAPS, pod, name) for name in sorted(maps)}
        found_secrets = {name: await self._fetch(SECRETS, pod, name) for name in sorted(secrets)}
        links = pod["spec"].get("enableServiceLinks", True)
        services = service_variables(self._context.services, pod["metadata"]["namespace"], links=links)
        return Sources(
            {name: each for name, each in found_maps.items() if each is not None},
            {name: each for name, each in found_secrets.items() if each is not None},
            services,
            await asyncio.to_thread(self._env_files, pod, container),
        )


def _target(container: Obj, observed: ObservedPod) -> str:
    """The id of the container that an ephemeral one is to look at. Raises CannotMake."""
    name = container.get("targetContainerName")
    if not name:
        return ""
    found = observed.newest(name)
    if found is None:
        raise CannotMake(f"unable to find target container {name}")
    return found.id


def _next_run(pod: Obj, name: str, observed: ObservedPod) -> tuple[int, int]:
    """Its number, and how often it has been restarted: where its remains are gone, its status knows."""
    last = observed.newest(name)
    if last is not None:
        return last.attempt + 1, last.restarts + 1
    status = pod.get("status") or {}
    told = [each for group in ("initContainerStatuses", "containerStatuses") for each in status.get(group) or ()]
    count = next((each["restartCount"] for each in told if each["name"] == name), 0)
    return count, count
