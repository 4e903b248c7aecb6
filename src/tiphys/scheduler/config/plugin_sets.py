"""Which plugins run at which extension point, and with which weights: upstream's defaults, and what a profile changes.

upstream pkg/scheduler/apis/config/v1/default_plugins.go and framework/runtime/framework.go:expandMultiPointPlugins.
"""

from collections.abc import Callable, Iterable, Sequence

from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.fields import POINTS
from tiphys.scheduler.config.reading import BadConfiguration

DEFAULTS: tuple[tuple[str, int], ...] = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)
"""Name and weight; 0 stands for 1, where there is anything to weigh."""

_OURS = frozenset(name for name, _ in DEFAULTS)
"""They may be named wherever upstream's could; some have less to do here."""

Enabled = list[tuple[str, int]]
Takes = Callable[[str, str], bool]
"""Whether a plugin (by name) has something to do at an extension point. Raises BadConfiguration for one that nobody knows."""


def at_points(given: Obj, takes: Takes, more: Iterable[str] = ()) -> dict[str, Enabled]:
    """`given` is the `plugins` of a profile. `more` plugins run wherever they can, after all others."""
    many = _merged([*DEFAULTS, *((name, 0) for name in more)], given.get("multiPoint") or {})
    _once([name for name, _ in many], "multiPoint")
    return {point: _at(point, many, given.get(point) or {}, takes) for point in POINTS}


def _merged(defaults: Sequence[tuple[str, int]], custom: Obj) -> Enabled:
    """A default that is named again takes the new weight and keeps its place."""
    disabled = {each.get("name", "") for each in custom.get("disabled") or ()}
    named = {each.get("name", ""): each.get("weight") or 0 for each in custom.get("enabled") or ()}
    found: Enabled = []
    if "*" not in disabled:
        found = [(name, named.get(name, weight)) for name, weight in defaults if name not in disabled]
    kept = {name for name, _ in found}
    return found + [(name, weight) for name, weight in named.items() if name not in kept]


def _at(point: str, many: Enabled, custom: Obj, takes: Takes) -> Enabled:
    named = [(each.get("name", ""), each.get("weight") or 0) for each in custom.get("enabled") or ()]
    _once([name for name, _ in named], point)
    for name, _ in named:
        if not takes(name, point) and name not in _OURS:
            raise BadConfiguration(f'plugin "{name}" does not extend {point} plugin')
    disabled = {each.get("name", "") for each in custom.get("disabled") or ()}
    if "*" in disabled:
        return named
    spread = [(name, weight) for name, weight in many if takes(name, point) and name not in disabled]
    everywhere, here = {name for name, _ in spread}, {name for name, _ in named}
    # Those that are set again here come first, in the order in which they stand here; new ones come last.
    again = [(name, weight or dict(many)[name]) for name, weight in named if name in everywhere]
    fresh = [(name, weight) for name, weight in named if name not in everywhere]
    return again + [each for each in spread if each[0] not in here] + fresh


def _once(names: Sequence[str], point: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadConfiguration(f'plugin "{name}" already registered as "{point}"')
