"""Which nodes have which images."""

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler.node_table.arrays import Mask, grown


class _Image:
    __slots__ = ("nodes", "on", "size")

    def __init__(self, size: int, capacity: int) -> None:
        self.size = size
        self.on: Mask = np.zeros(capacity, np.bool_)
        self.nodes = 0


class ImageColumns:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._images: dict[str, _Image] = {}

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for image in self._images.values():
            image.on = grown(image.on, capacity)

    def set(self, row: int, old: list[Obj], new: list[Obj]) -> None:
        if old == new:
            return
        after = {name: each.get("sizeBytes") or 0 for each in new for name in each.get("names") or ()}
        for name in {name for each in old for name in each.get("names") or ()} - after.keys():
            image = self._images[name]
            image.on[row] = False
            image.nodes -= 1
            if not image.nodes:
                del self._images[name]
        for name, size in after.items():
            found = self._images.get(name)
            if found is None:
                found = self._images[name] = _Image(size, self._capacity)
            if not found.on[row]:
                found.on[row] = True
                found.nodes += 1

    def find(self, name: str) -> tuple[int, int, Mask] | None:
        """Its size, how many nodes have it, and which."""
        image = self._images.get(name)
        return None if image is None else (image.size, image.nodes, image.on)
