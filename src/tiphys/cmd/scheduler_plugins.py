"""Scheduler plugins of somebody's own: those that installed packages offer by entry point, and those that a flag names."""

import importlib
import inspect
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from tiphys.cmd.data_directory import Unusable
from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.framework import Plugin
from tiphys.scheduler.plugins.registry import MAKERS, Maker

GROUP = "tiphys.scheduler.plugins"


def load(named: Sequence[str]) -> tuple[Mapping[str, Maker], list[str]]:
    """Makers by the name of the plugin, and the names of those that `named` (module:Class) means: these run by themselves.

    Those of entry points run where a configuration enables them."""
    makers = {each.name: _maker(each.load()) for each in entry_points(group=GROUP)}
    running = []
    for each in named:
        found = _named(each)
        name = str(found.name)
        if name in MAKERS:
            raise Unusable(f"{each} calls itself {name!r}, as one of the scheduler's own plugins does")
        makers[name] = _maker(found)
        running.append(name)
    return makers, running


def _named(path: str) -> Any:
    module, colon, attribute = path.partition(":")
    if not colon or not attribute:
        raise Unusable(f"a plugin is named by module:Class, not {path!r}")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as problem:
        raise Unusable(f"cannot load the plugin {path}: {problem}") from None
    if not getattr(found, "name", ""):
        raise Unusable(f"the plugin {path} has no name")
    return found


def _maker(made_of: Any) -> Maker:
    """A class that takes anything takes the arguments from the configuration, and then what is known of the cluster."""
    takes = len(inspect.signature(made_of).parameters)

    def make(cluster: Cluster, args: Obj) -> Plugin:
        plugin: Plugin = made_of(*(args, cluster)[:takes])
        return plugin

    return make
