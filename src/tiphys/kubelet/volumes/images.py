"""Image volumes: the files of an image, read-only, mounted on the host and from there into containers.

The CRI of containerd 1.x cannot mount images, so this is asked of containerd itself, through its own `ctr`.
https://kubernetes.io/docs/tasks/configure-pod-container/image-volumes/
"""

import asyncio
import os
from pathlib import Path, PurePath

from tiphys.kubelet.containerd.ctr import CtrFailed, ctr
from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes import host


class ImageMounts:
    def __init__(self, socket: Path) -> None:
        """`socket`: of containerd."""
        self._socket = socket

    async def mount(self, reference: str, target: PurePath) -> None:
        if not await asyncio.to_thread(_mounted, target):
            await asyncio.to_thread(Path(target).mkdir, parents=True, exist_ok=True)
            await self._ctr("images", "mount", reference, str(target))
            await asyncio.to_thread(host.forbid_execution, target)

    async def unmount_below(self, folder: PurePath) -> None:
        """Of one pod."""
        for target in await asyncio.to_thread(_targets, folder):
            await self._ctr("images", "unmount", "--rm", target)

    async def _ctr(self, *arguments: str) -> None:
        try:
            await ctr(self._socket, *arguments)
        except CtrFailed as failed:
            raise CannotMake(f"failed to mount the image: {failed}") from None


def _mounted(target: PurePath) -> bool:
    return os.path.ismount(target)


def _targets(folder: PurePath) -> list[str]:
    below = Path(folder) / "volumes" / "kubernetes.io~image"
    return [str(each) for each in below.iterdir()] if below.exists() else []
