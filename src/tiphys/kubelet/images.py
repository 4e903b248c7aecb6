"""Which image a container asks for, whether it has to be fetched, and which are taken away again (pkg/kubelet/images)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tiphys.machinery.tree import Obj

_FIRST_DELAY, _LONGEST_DELAY = 10.0, 300.0


def full_reference(image: str) -> str:
    """With registry and tag: `busybox` is docker.io/library/busybox:latest."""
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        image = f"docker.io/{image}" if slash else f"docker.io/library/{image}"
    last = image.rsplit("/", 1)[-1]
    return image if "@" in image or ":" in last else f"{image}:latest"


_REFERENCE = re.compile(
    r"[\w.-]+(:\d+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+(:\w[\w.-]{0,127})?(@[A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,})?"
)


def is_reference(full: str) -> bool:
    """Whether something can be called like that (https://github.com/distribution/reference)."""
    return _REFERENCE.fullmatch(full) is not None


_NAMED = {"RegistryUnavailable": "registry is unavailable", "SignatureValidationFailed": "signature validation failed"}


def pull_problem(image: str, said: str, whole: str) -> tuple[str, str]:
    """Reason and message, from what the runtime said (and that as an error of gRPC)."""
    for reason, words in _NAMED.items():
        if said.startswith(reason):
            return reason, f"image pull failed for {image} because the {words}{said.removeprefix(reason)}"
    return "ErrImagePull", whole


def wants_pull(container: Obj, *, present: bool) -> bool:
    policy = container.get("imagePullPolicy") or "IfNotPresent"
    return policy == "Always" or (policy == "IfNotPresent" and not present)


@dataclass(frozen=True, slots=True)
class PullBackOff:
    """Of one image of one pod: it failed, and is not tried again before `until`."""

    delay: float = 0.0
    until: float = 0.0
    problem: str = ""

    def failed(self, problem: str, now: float) -> "PullBackOff":
        delay = min(self.delay * 2, _LONGEST_DELAY) if self.delay else _FIRST_DELAY
        return PullBackOff(delay, now + delay, problem)


class PullAllowance:
    """So many pulls a second, and so many more at once (registryPullQPS, registryBurst); a rate of 0 is no limit."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def take(self, now: float) -> bool:
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._rate and self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Stored:
    """An image that lies on this node."""

    id: str
    size: int
    detected: float
    used: float
    """When somebody was last seen to use it."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long images stay (imageGCHighThresholdPercent and its neighbours)."""

    high: int = 85
    low: int = 80
    least_age: float = 120.0
    most_age: float = 0.0
    """0: unused images stay while there is room."""


def seen(before: Mapping[str, Stored], sizes: Mapping[str, int], in_use: Iterable[str], now: float) -> dict[str, Stored]:
    """After another look at the images (id -> size); an image that is new counts as never used."""
    after = {name: replace(before.get(name) or Stored(name, size, now, 0.0), size=size) for name, size in sizes.items()}
    for name in in_use:
        if name in after:
            after[name] = replace(after[name], used=now)
    return after


def excess(capacity: int, available: int, keeping: Keeping) -> int:
    """Bytes that have to be freed."""
    percent = 100 - available * 100 // capacity if capacity else 0
    return capacity * (100 - keeping.low) // 100 - available if percent >= keeping.high else 0


def to_remove(stored: Iterable[Stored], free: int, keeping: Keeping, started: float, now: float) -> list[str]:
    """Ids: those that are too old, then the least lately used until `free` bytes are won; none that is in use."""
    idle = sorted((each for each in stored if each.used < now), key=lambda each: (each.used, each.detected))
    chosen: list[str] = []
    for each in idle:
        old = 0 < keeping.most_age < min(now - each.used, now - started)
        if old or (free > 0 and now - each.detected >= keeping.least_age):
            chosen.append(each.id)
            free -= each.size
    return chosen
