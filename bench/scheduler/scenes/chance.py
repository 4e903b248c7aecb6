"""Which features a scene has, and how often: every seed makes the same scene on every machine."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

# What each theme has plenty of. The rest of the features are rare in it.
THEMES: dict[str, tuple[str, ...]] = {
    "resources": ("starters", "extended", "overhead", "pod level", "storage", "crowded"),
    "taints": ("taints", "tolerations", "cordoned"),
    "node affinity": ("selector", "required nodes", "preferred nodes", "fields"),
    "pod affinity": ("required pods", "apart from pods", "namespaces", "other terms"),
    "pod preferences": ("preferred pods", "preferably apart", "namespaces", "other terms"),
    "spreading": ("hard spread", "spread policies", "taints", "required nodes", "selector"),
    "soft spreading": ("soft spread", "spread policies", "service", "owner"),
    "ports and names": ("ports", "named node", "cordoned", "starters"),
    "images": ("images", "service", "extended"),
    "bound volumes": ("bound claims", "zones of volumes", "once", "disks"),
    "waiting volumes": ("open claims", "capacities", "topologies"),
    "volume limits": ("bound claims", "open claims", "limits", "migrated"),
    "preemption": ("priorities", "crowded", "budgets", "ports", "apart from pods"),
    "nominations": ("priorities", "crowded", "nominated", "apart from pods", "hard spread"),
    "devices": ("devices",),
    "gates": ("gates",),
    "everything": (),
}
# Those that came later: the scenes before them stay as they are.
LATER: dict[str, tuple[str, ...]] = {
    "shared devices": ("devices", "shares"),
    "partitions": ("devices", "partitions"),
    "binding conditions": ("devices", "conditions"),
    "devices as resources": ("devices", "behind"),
    "all devices": ("devices", "shares", "partitions", "conditions", "behind"),
}
EARLIER = 2000
_OFTEN, _EVERYTHING, _RARELY = 0.55, 0.2, 0.03


class Chance:
    def __init__(self, seed: int) -> None:
        self.is_early = seed < EARLIER
        themes = THEMES if self.is_early else LATER
        self.theme = list(themes)[seed % len(themes)]
        self._plenty = frozenset(themes[self.theme])
        self._random = random.Random(seed)

    def has(self, feature: str) -> bool:
        """Whether this object has it."""
        usual = _EVERYTHING if self.theme == "everything" else _RARELY
        return self._random.random() < (_OFTEN if feature in self._plenty else usual)

    def often(self, feature: str) -> bool:
        return self.theme == "everything" or feature in self._plenty

    def abounds(self, feature: str) -> bool:
        """Of the later features: only scenes that are about it have any of it."""
        return feature in self._plenty

    def one_in(self, times: float) -> bool:
        return self._random.random() * times < 1

    def pick(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]

    def some(self, among: Sequence[T], least: int = 1, most: int = 0) -> list[T]:
        """In a chance order."""
        left = list(among)
        return [left.pop(self.below(len(left))) for _ in range(self.between(least, most or len(left)))]

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)
