"""The feature gates of v1.36: which there are, and what --feature-gates makes of them.

`feature_gates.tsv` lists them: name, stage, `on` or `off` by default, `locked` where that cannot be changed, and the gates that
one needs to be on. Most stand for something that is here as upstream has it by default, or not at all. Who sets one of these is
told so, and not refused: the same gates are given to every program of a cluster, and few concern all of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tiphys.machinery.fields import quote

ALL = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}
"""Gates that stand for those of a stage that are not named themselves."""
FLAGZ, STATUSZ = "ComponentFlagz", "ComponentStatusz"
COMPRESSION, STORAGE_HASH = "APIResponseCompression", "StorageVersionHash"
TOPOLOGY_LABELS = "PodTopologyLabelsAdmission"

PAGES = frozenset((FLAGZ, STATUSZ))
"""What every program with a server has behind gates."""
API_SERVER = PAGES | {COMPRESSION, STORAGE_HASH, TOPOLOGY_LABELS}

_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_AGEING = {"GA": "GA", "DEPRECATED": "deprecated"}


class Unusable(ValueError):
    """What is wrong, in upstream's words."""


@dataclass(frozen=True, slots=True)
class Gate:
    stage: str
    on: bool
    locked: bool
    needs: tuple[str, ...]


@cache
def known() -> Mapping[str, Gate]:
    lines = Path(__file__).with_suffix(".tsv").read_text().splitlines()
    found = {}
    for line in lines:
        name, stage, default, locked, needs = [*line.split("\t"), "", ""][:5]
        found[name] = Gate(stage, default == "on", bool(locked), tuple(needs.split()))
    return found


@dataclass(frozen=True, slots=True)
class FeatureGates:
    given: Mapping[str, bool] = field(default_factory=dict)
    """As the flag says it."""
    changed: Mapping[str, bool] = field(default_factory=dict)
    """Also by AllAlpha and AllBeta."""

    def on(self, name: str) -> bool:
        """KeyError for what is no gate."""
        default = known()[name].on
        return self.changed.get(name, default)

    def warnings(self, effective: Collection[str]) -> Iterator[str]:
        """What who set them should know. `effective`: the gates that this program looks at."""
        idle = []
        for name, on in self.given.items():
            if name in ALL:
                if any(self.changed[each] != gate.on for each, gate in _of(ALL[name]) if each not in effective):
                    counts = sorted(each for each, _ in _of(ALL[name]) if each in effective)
                    most = f"counts here only for {', '.join(counts)}" if counts else "changes nothing here"
                    yield f"feature gate {name}={_text(on)} {most}"
                continue
            gate = known()[name]
            if gate.stage in _AGEING:
                yield f"setting {_AGEING[gate.stage]} feature gate {name}={_text(on)}. It will be removed in a future release."
            if on != gate.on and name not in effective:
                idle.append(f"{name}={_text(on)}")
        if idle:
            yield f"these feature gates change nothing here: {', '.join(sorted(idle))}"


def _of(stage: str) -> Iterable[tuple[str, Gate]]:
    return [each for each in known().items() if each[1].stage == stage]


def _text(on: bool) -> str:
    return "true" if on else "false"


def parse(text: str) -> dict[str, bool]:
    """`A=true,B=false`; a program of many components takes `kube:A=true`, too. Raises Unusable."""
    found = {}
    for each in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in each.partition("="))
        component, colon, rest = name.partition(":")
        if colon and component != "kube":
            raise Unusable(f"component not registered: {component}")
        name = rest if colon else name
        if not equals:
            raise Unusable(f"missing bool value for {name}")
        if value not in _TRUE and value not in _FALSE:
            raise Unusable(f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax")
        found[name] = value in _TRUE
    return found


def read(given: Mapping[str, bool]) -> FeatureGates:
    """Raises Unusable for gates that there are not, that are locked, or that need others."""
    unknown = [name for name in given if name not in known() and name not in ALL]
    if unknown:
        raise Unusable(f"unrecognized feature gate: {unknown[0]}")
    changed = {name: on for name, on in given.items() if name not in ALL}
    locked = [
        f"cannot set feature gate {name} to {_text(on)}, feature is locked to {_text(not on)}"
        for name, on in changed.items()
        if known()[name].locked and known()[name].on != on
    ]
    _refuse(locked)
    for name, stage in ALL.items():
        if name in given:
            changed = {**{each: given[name] for each, _ in _of(stage)}, **changed}
    gates = FeatureGates(given, changed)
    _refuse(_in_need(gates))
    return gates


def _in_need(gates: FeatureGates) -> Iterator[str]:
    for name, gate in known().items():
        missing = [each for each in gate.needs if not gates.on(each)] if gate.needs and gates.on(name) else []
        if missing:
            yield f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"


def _refuse(problems: Iterable[str]) -> None:
    told = list(problems)
    if told:
        raise Unusable(told[0] if len(told) == 1 else f"[{', '.join(told)}]")
