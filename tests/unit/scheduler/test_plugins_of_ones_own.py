"""docs/scheduler-plugins.md does what it says."""

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tiphys.cmd import scheduler_plugins
from tiphys.cmd.data_directory import Unusable
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.config import settings
from tiphys.scheduler.config.reading import read
from tiphys.scheduler.profiles import build
from tiphys.scheduler.testing import Bench, bound, check_promises, make_node, make_pod

PAGE = (Path(__file__).parents[3] / "docs" / "scheduler-plugins.md").read_text()
CODE: dict[str, str] = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The page's modules, as if they were files."""
    found = {}
    for name in ("quiet", "cool", "test_quiet"):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(CODE[name], module.__dict__)
        found[name] = module
    return found


def test_the_example_passes_its_own_test(modules: dict[str, Any]):
    modules["test_quiet"].test_builders_are_avoided()


def test_both_kinds_keep_their_promises(modules: dict[str, Any]):
    for plugin in (modules["quiet"].Quiet(), modules["cool"].Cool({})):
        bench = Bench(plugin).nodes(make_node("a"), make_node("b", amounts={"memory": "2Gi"}))
        bench.running(bound(make_pod("one", cpu="1500m", labels={"app": "builder"}), "a"))
        check_promises(plugin, bench, make_pod("p", cpu="1", labels={"noise": "none"}))


def test_flags_load_them_and_they_run(modules: dict[str, Any]):
    makers, running = scheduler_plugins.load(["quiet:Quiet", "cool:Cool"])
    profile = build(settings.ProfileSettings(), Cluster(), makers, running)
    assert [each.name for each in profile.filters][-2:] == ["Quiet", "Cool"]
    assert [(each.plugin.name, each.weight) for each in profile.scorers][-2:] == [("Quiet", 1), ("Cool", 1)]


def test_a_configuration_decides_where_and_how(modules: dict[str, Any]):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    wanted = settings.of(read(text.encode()))
    makers, running = scheduler_plugins.load(["cool:Cool"])
    usual, cool = (build(each, Cluster(), makers, running) for each in wanted.profiles)
    assert [(each.plugin.name, each.weight) for each in cool.scorers][-1] == ("Cool", 5)
    assert cool.filters[-1]._most == 3000
    assert usual.filters[-1]._most == 2000


@pytest.mark.parametrize("path", ["quiet", "nowhere:Quiet", "quiet:Loud"])
def test_what_cannot_be_loaded(path: str):
    with pytest.raises(Unusable):
        scheduler_plugins.load([path])


def test_names_of_the_schedulers_own_plugins_are_taken(modules: dict[str, Any]):
    modules["quiet"].Quiet.name = "NodeName"
    with pytest.raises(Unusable, match="NodeName"):
        scheduler_plugins.load(["quiet:Quiet"])
