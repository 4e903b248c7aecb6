"""Sees to it that a container's image is there; what failed is not tried again before its back-off is over."""

import asyncio
import contextlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping

import grpc
import orjson

from tiphys.base.clock import Clock
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Image, Runtime
from tiphys.kubelet.images import PullAllowance, PullBackOff, full_reference, is_reference, pull_problem, wants_pull
from tiphys.kubelet.status.containers import Trouble
from tiphys.machinery.tree import Obj

Tell = Callable[[str, str, str], None]
"""An event about the container: type, reason, message."""


class NoImage(Exception):
    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


class ImagePuller:
    def __init__(self, runtime: Runtime, settings: Obj, clock: Clock) -> None:
        """`settings`: a KubeletConfiguration. One after another is pulled by default."""
        self._runtime = runtime
        self._clock = clock
        self._back_offs: dict[tuple[str, str], PullBackOff] = {}
        at_once = 1 if settings["serializeImagePulls"] else settings.get("maxParallelImagePulls")
        self._at_once: contextlib.AbstractAsyncContextManager[None] = (
            asyncio.Semaphore(at_once) if at_once else contextlib.nullcontext()
        )
        self._allowance = PullAllowance(float(settings["registryPullQPS"]), float(settings["registryBurst"]))

    async def ensure(self, pod: Obj, container: Obj, secrets: Iterable[Obj], tell: Tell) -> Image:
        """Raises NoImage with what the container's status says."""
        image = container["image"]
        reference = full_reference(image)
        if not is_reference(reference):
            wrong = f'couldn\'t parse image name "{image}": invalid reference format'
            told = f'Failed to apply default image tag "{image}": {wrong}'
            tell("Warning", "InspectFailed", told)
            raise NoImage(Trouble("InvalidImageName", told))
        found = await self._runtime.image(reference)
        if not wants_pull(container, present=found is not None):
            if found is not None:
                tell("Normal", "Pulled", f'Container image "{image}" already present on machine and can be accessed by the pod')
                return found
            told = f'Container image "{image}" is not present with pull policy of Never'
            tell("Warning", "ErrImageNeverPull", told)
            raise NoImage(Trouble("ErrImageNeverPull", told))
        return await self._pull(pod, image, reference, secrets, tell)

    async def _pull(self, pod: Obj, image: str, reference: str, secrets: Iterable[Obj], tell: Tell) -> Image:
        key = (pod["metadata"]["uid"], image)
        back_off = self._back_offs.get(key, PullBackOff())
        if self._clock.now() < back_off.until:
            told = f'Back-off pulling image "{image}"'
            tell("Normal", "BackOff", told)
            raise NoImage(Trouble("ImagePullBackOff", f"{told}: {back_off.problem}" if back_off.problem else told))
        tell("Normal", "Pulling", f'Pulling image "{image}"')
        began = self._clock.monotonic()
        try:
            async with self._at_once:
                alone = self._clock.monotonic()
                if not self._allowance.take(alone):
                    raise RuntimeFailed(grpc.StatusCode.RESOURCE_EXHAUSTED, "pull QPS exceeded")
                await self._with_credentials(reference, secrets)
            found = await self._runtime.image(reference)
        except RuntimeFailed as failed:
            tell("Warning", "Failed", f'Failed to pull image "{image}": {failed}')
            trouble = Trouble(*pull_problem(image, failed.args[0], str(failed)))
            tell("Warning", "Failed", f"Error: {trouble.reason}")
            self._back_offs[key] = back_off.failed(f"{trouble.reason}: {trouble.message}", self._clock.now())
            raise NoImage(trouble) from failed
        if found is None:
            raise NoImage(Trouble("ErrImagePull", f'image "{image}" is not there although it was pulled'))
        self._back_offs.pop(key, None)
        now = self._clock.monotonic()
        tell(
            "Normal",
            "Pulled",
            f'Successfully pulled image "{image}" in {_spell(now - alone)} ({_spell(now - began)} including waiting). '
            f"Image size: {found.size} bytes.",
        )
        return found

    async def _with_credentials(self, reference: str, secrets: Iterable[Obj]) -> None:
        """Each that the pod brings along in turn, and none at last."""
        registry = reference.split("/", 1)[0]
        problem: RuntimeFailed | None = None
        for auth in [*credentials(secrets, registry), None]:
            try:
                await self._runtime.pull(reference, auth)
            except RuntimeFailed as failed:
                problem = problem or failed
            else:
                return
        if problem is not None:
            raise problem

    def forget(self, uid: str) -> None:
        for key in [each for each in self._back_offs if each[0] == uid]:
            del self._back_offs[key]


def credentials(secrets: Iterable[Obj], registry: str) -> list[Mapping[str, str]]:
    """Of `kubernetes.io/dockerconfigjson` secrets, those for the registry."""
    found: list[Mapping[str, str]] = []
    for secret in secrets:
        data = secret.get("data") or {}
        if ".dockerconfigjson" in data:
            entries = orjson.loads(b64decode(data[".dockerconfigjson"])).get("auths") or {}
        elif ".dockercfg" in data:
            entries = orjson.loads(b64decode(data[".dockercfg"]))
        else:
            continue
        for host, entry in entries.items():
            if host.removeprefix("https://").removeprefix("http://").split("/", 1)[0] in (registry, _alias(registry)):
                user, _, password = b64decode(entry.get("auth") or "").decode().partition(":")
                found.append({"username": entry.get("username") or user, "password": entry.get("password") or password})
    return found


def _alias(registry: str) -> str:
    return "index.docker.io" if registry == "docker.io" else registry


def _spell(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s" if seconds >= 1 else f"{round(seconds * 1000)}ms"
