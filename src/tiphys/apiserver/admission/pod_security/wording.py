"""How refusals are worded, and how containers are visited: in this order, by every check."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tiphys.machinery.tree import Obj


class Refusal(NamedTuple):
    reason: str
    detail: str


def containers(spec: Obj) -> Iterator[tuple[Obj, Obj]]:
    """Each container and its security context."""
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            yield container, container.get("securityContext") or {}


def plural(singular: str, several: str, count: int) -> str:
    return singular if count == 1 else several


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def named(names: Sequence[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def setters(pod: bool, names: Sequence[str]) -> str:
    """Who set something: the pod and such containers."""
    return " and ".join([*(["pod"] if pod else ()), *([named(names)] if names else ())])
