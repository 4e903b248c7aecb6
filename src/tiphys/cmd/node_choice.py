"""Which node `tiphys up` starts: a real one where the machine can run containers, else a simulated one, and why."""

from dataclasses import dataclass

NONE, REAL, SIMULATED, AUTOMATIC = "none", "real", "sim", "auto"
FALLBACK = SIMULATED
ARCHITECTURES = ("x86_64",)
"""Those for which there is a pause program."""

RUNTIME_PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "CNI plugins": "containernetworking-plugins",
}
NETWORK_PACKAGES = {"nft": "nftables", "conntrack": "conntrack"}
"""What a node needs -> the Debian package that has it."""


def simulated(kind: str) -> int:
    """How many simulated nodes `sim` or `sim:N` means; of anything else, none."""
    word, _, count = kind.partition(":")
    return int(count or 1) if word == SIMULATED else 0


@dataclass(frozen=True, slots=True)
class Machine:
    system: str
    """As `uname` says it."""
    architecture: str
    root: bool
    lacks: frozenset[str]
    """Of the keys of the tables above."""
    can_install: bool
    """There is apt-get."""


@dataclass(frozen=True, slots=True)
class Choice:
    kind: str
    why: str = ""
    """Why it is not a real one."""
    install: tuple[str, ...] = ()
    """Packages that have to be installed before it starts."""


class Impossible(ValueError):
    """A real node was asked for by name, and cannot be; a sentence."""


def choose(wanted: str, machine: Machine, *, own_runtime: bool, with_network: bool, may_install: bool) -> Choice:
    """`own_runtime`: the node brings its containerd along. Raises Impossible."""
    if wanted not in (AUTOMATIC, REAL):
        return Choice(wanted)
    needed = (RUNTIME_PACKAGES if own_runtime else {}) | (NETWORK_PACKAGES if with_network else {})
    lacking = {name: package for name, package in needed.items() if name in machine.lacks}
    packages = tuple(sorted(set(lacking.values())))
    why = _hindrance(machine, packages, own_runtime=own_runtime, may_install=may_install)
    if not why:
        return Choice(REAL, install=packages)
    if wanted == REAL:
        raise Impossible(why)
    return Choice(FALLBACK, why)


def _hindrance(machine: Machine, packages: tuple[str, ...], *, own_runtime: bool, may_install: bool) -> str:
    if machine.system != "Linux":
        return f"real containers need Linux, and this is {machine.system}"
    if not machine.root:
        return "real containers need root"
    if own_runtime and machine.architecture not in ARCHITECTURES:
        return f"there is no pause program for {machine.architecture}"
    if packages and not may_install:
        return f"{_listed(packages)} would have to be installed, which --no-install forbids"
    if packages and not machine.can_install:
        return f"{_listed(packages)} would have to be installed, and there is no apt-get here"
    return ""


def _listed(words: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
