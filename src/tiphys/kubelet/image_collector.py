"""Takes away images that nobody uses when their disk fills up, or when they are old."""

import asyncio
import os
from collections.abc import Callable, Iterable

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Image, Runtime
from tiphys.kubelet.images import Keeping, Stored, excess, full_reference, seen, to_remove
from tiphys.machinery.tree import Obj

EVERY = 300.0
_RETRY = 10.0
_EVERYTHING = 1 << 62


class ImageCollector:
    """`wanted`: images that pods of this node name, whether or not a container of theirs is there now.

    `tell` makes an event of the node: reason and message.
    """

    def __init__(
        self,
        runtime: Runtime,
        settings: Obj,
        wanted: Callable[[], Iterable[str]],
        tell: Callable[[str, str], None],
        clock: Clock,
        log: Logger,
    ) -> None:
        self._runtime = runtime
        self._keeping = Keeping(
            settings["imageGCHighThresholdPercent"],
            settings["imageGCLowThresholdPercent"],
            seconds(settings, "imageMinimumGCAge"),
            seconds(settings, "imageMaximumGCAge"),
        )
        self._wanted = wanted
        self._tell = tell
        self._clock = clock
        self._log = log
        self.place = ""
        """Where images lie; empty while nobody knows."""
        self._stored: dict[str, Stored] = {}
        self._started = clock.now()

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        while True:
            try:
                await self._collect()
            except (RuntimeFailed, OSError) as problem:
                self._log.warning("images cannot be collected", error=str(problem))
            await self._clock.sleep(EVERY if self.place else _RETRY)

    async def _collect(self) -> None:
        self.place = await asyncio.to_thread(_existing, await self._runtime.image_file_system())
        if not self.place:
            return
        disk = await asyncio.to_thread(os.statvfs, self.place)
        capacity, available = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
        needed = excess(capacity, available, self._keeping)
        freed = await self._remove(needed, self._keeping)
        if freed < needed:
            percent = 100 - available * 100 // capacity
            self._tell(
                "FreeDiskSpaceFailed",
                f"Insufficient free disk space on the node's image filesystem ({percent}% of {_size(capacity)} used). "
                f"Failed to free sufficient space by deleting unused images (freed {freed} bytes). "
                "Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
            )

    async def remove_unused(self) -> None:
        """All of them: the disk is full."""
        await self._remove(_EVERYTHING, self._keeping)

    async def _remove(self, needed: int, keeping: Keeping) -> int:
        """Bytes that were freed."""
        now = self._clock.now()
        images = await self._runtime.images()
        used = {*await self._runtime.images_in_use(), *map(full_reference, self._wanted())}
        in_use = [each.id for each in images if each.pinned or not used.isdisjoint(_names(each))]
        self._stored = seen(self._stored, {each.id: each.size for each in images}, in_use, now)
        freed = 0
        for image_id in to_remove(self._stored.values(), needed, keeping, self._started, now):
            await self._runtime.remove_image(image_id)
            freed += self._stored.pop(image_id).size
        return freed


def _existing(place: str) -> str:
    return place if place and os.path.exists(place) else ""


def _names(image: Image) -> tuple[str, ...]:
    return (image.id, *image.tags, *image.digests)


def _size(amount: int) -> str:
    """As upstream shows it: 234.5 GiB."""
    value, unit = float(amount), 0
    while value >= 1024 and unit < 4:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"
