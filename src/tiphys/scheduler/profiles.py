"""From a profile's settings to its plugins: which run, in which order, with which weights."""

from collections.abc import Iterable, Mapping
from typing import Any

from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.config import plugin_sets
from tiphys.scheduler.config.reading import BadConfiguration
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER, ProfileSettings
from tiphys.scheduler.framework import (
    Bind,
    Effort,
    Filter,
    Free,
    Gate,
    Narrow,
    Permit,
    Plan,
    Plugin,
    PostBind,
    PreBind,
    Profile,
    Reserve,
    Score,
    Weighted,
)
from tiphys.scheduler.one_node import OneNodePlugin
from tiphys.scheduler.plugins.registry import MAKERS, Maker

_PHASES: dict[str, Any] = {
    "preEnqueue": Gate,
    "preFilter": Narrow,
    "filter": Filter,
    "postFilter": Free,
    "score": Score,
    "reserve": Reserve,
    "permit": Permit,
    "preBind": PreBind,
    "bind": Bind,
    "postBind": PostBind,
}
"""Extension points that plugins are called at."""
_PARTS = {"PrioritySort": "queueSort", "DefaultPreemption": "postFilter", "DefaultBinder": "bind"}
"""Upstream's plugins that are parts of the scheduler itself here."""


def build(
    settings: ProfileSettings, cluster: Cluster, more: Mapping[str, Maker] | None = None, running: Iterable[str] = ()
) -> Profile:
    """`more` are plugins of somebody's own; of these, `running` run even if the settings do not name them.

    Raises BadConfiguration."""
    return _Builder(settings, cluster, {**MAKERS, **(more or {})}).build(running)


def default_profile(cluster: Cluster, scheduler: str = DEFAULT_SCHEDULER) -> Profile:
    return build(ProfileSettings(scheduler), cluster)


class _Builder:
    def __init__(self, settings: ProfileSettings, cluster: Cluster, makers: Mapping[str, Maker]) -> None:
        self._settings = settings
        self._cluster = cluster
        self._makers = makers
        self._made: dict[str, Plugin] = {}
        """One of each, whatever the number of its extension points."""

    def build(self, running: Iterable[str]) -> Profile:
        settings = self._settings
        named = {each.get("name") for chosen in settings.plugins.values() for each in (chosen or {}).get("enabled") or ()}
        points = plugin_sets.at_points(settings.plugins, self._takes, [name for name in running if name not in named])
        if not points["queueSort"]:
            raise BadConfiguration(f"no queue sort plugin is enabled for profile {settings.scheduler!r}")
        if not points["bind"]:
            raise BadConfiguration("at least one bind plugin is needed")
        reserving = {name for name, _ in points["reserve"]}
        preempting = any(name == "DefaultPreemption" for name, _ in points["postFilter"])
        volumes = settings.arguments.get("VolumeBinding") or {}
        return Profile(
            settings.scheduler,
            gates=self._of("preEnqueue", points),
            narrowers=self._of("preFilter", points),
            filters=self._of("filter", points),
            freers=self._of("postFilter", points),
            scorers=tuple(
                Weighted(plugin, weight or 1)
                for name, weight in points["score"]
                if isinstance(plugin := self._plugin(name), Score)
            ),
            planner=next((each for name in reserving if isinstance(each := self._plugin(name), Plan)), None),
            reservers=self._of("reserve", points),
            permitters=self._of("permit", points),
            pre_binders=self._of("preBind", points),
            binders=self._of("bind", points),
            post_binders=self._of("postBind", points),
            preemption=self._effort() if preempting else None,
            volume_seconds=float(volumes.get("bindTimeoutSeconds", 600)),
        )

    def _of(self, point: str, points: Mapping[str, plugin_sets.Enabled]) -> tuple[Any, ...]:
        """Plugins that have something to do there, each once, in order."""
        wanted = (name for name, _ in points[point] if name not in _PARTS)
        return tuple(plugin for name in wanted if isinstance(plugin := self._plugin(name), _PHASES[point]))

    def _plugin(self, name: str) -> Plugin:
        found = self._made.get(name)
        if found is None:
            maker = self._makers.get(name)
            if maker is None:
                raise BadConfiguration(f'plugin "{name}" does not exist')
            found = self._made[name] = maker(self._cluster, self._settings.arguments.get(name) or {})
        return found

    def _takes(self, name: str, point: str) -> bool:
        if name in _PARTS:
            return _PARTS[name] == point
        plugin = self._plugin(name)
        if isinstance(plugin, OneNodePlugin) and point in ("filter", "score"):
            return plugin.does(point)
        if isinstance(plugin, Plan) and point in ("reserve", "preBind"):
            return True
        return point in _PHASES and isinstance(plugin, _PHASES[point])

    def _effort(self) -> Effort:
        given = self._settings.arguments.get("DefaultPreemption") or {}
        return Effort(given.get("minCandidateNodesPercentage", 10), given.get("minCandidateNodesAbsolute", 100))
