"""Random clusters that kube-scheduler v1.36.4 was asked about, every node scored, and what it said.

Each line of `answers.jsonl` is a scene of `bench.scheduler.scenes`: `[number, {...}]`. `gate` is why the pod was not tried,
`fails` why nothing could be said; `can` the nodes that can take it (the digits of their names), `best` those of them that
scored highest. Where none can, `says` is the message of the pod's condition and of its event, `by` the plugins whose events
wake the pod, `room` the node for which others were evicted, and `gone` who.

Of scenes about devices there is more: `gets` is what was written of claims when the pod went to the node `on` (without the
time, and with "?" for what is chance), `asks` what was asked for with a claim that stands for resources of the pod, `maps` for
which of its containers; `frees` a claim whose devices were given back, `removes` one that was left over from an attempt before.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.scheduler import scenes
from bench.scheduler.scenes import Scene
from bench.scheduler.scenes.chance import LATER, THEMES
from bench.scheduler.scenes.judging import Judgement, judge

from tiphys.api.core.pods import PODS

ANSWERS = Path(__file__).parent / "answers.jsonl"


def recorded() -> dict[int, dict[str, Any]]:
    return dict(json.loads(line) for line in ANSWERS.read_text().splitlines())


def digits(nodes: Any) -> str:
    return "".join(sorted(each.removeprefix("node-") for each in nodes))


def said(ours: Judgement, theirs: dict[str, Any]) -> dict[str, Any]:
    """Our word in the form of theirs. Of nodes for which room could be made as cheaply it is upstream that chose one."""
    if ours.gate:
        return {"gate": ours.gate}
    if ours.failures:
        return {"fails": theirs.get("fails") if theirs.get("fails") in ours.failures else sorted(ours.failures)}
    if ours.totals:
        return {"can": digits(ours.totals), "best": digits(ours.best), **given(ours, theirs)}
    told = {"says": ours.message, "by": ours.blamed}
    if ours.freed and "frees" in theirs:
        told["frees"] = theirs["frees"] if theirs["frees"] in ours.freed else ours.freed
    if ours.removed:
        told["removes"] = ours.removed
    if ours.room:
        room = theirs.get("room", "")
        told |= {"room": room, "gone": ours.room.get(f"node-{room}", [])}
    return told


def given(ours: Judgement, theirs: dict[str, Any]) -> dict[str, Any]:
    """Of the nodes that are equally good it is upstream that chose one."""
    if "gets" not in theirs:
        return {}
    decided = ours.gives(f"node-{theirs['on']}")
    gets = {}
    for uid, allocation in decided.allocations.items():
        for result in allocation["devices"]["results"]:
            if "shareID" in result:
                result["shareID"] = "?"
        made = decided.extended is not None and uid == decided.extended["metadata"]["uid"]
        gets["wanted-extended-resources-abcde" if made else uid.removeprefix("uid-resourceclaims-")] = allocation
    told: dict[str, Any] = {"on": theirs["on"], "gets": gets}
    if decided.extended is not None:
        told |= {"asks": decided.extended["spec"]["devices"]["requests"], "maps": list(decided.mappings)}
    return told


def differences(of: Iterator[Scene]) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    answers = recorded()
    for scene in of:
        theirs = answers[scene.number]
        ours = judge(scene)
        if said(ours, theirs) != theirs:
            yield scene.number, theirs, said(ours, theirs)
        elif ours.node:
            assert ours.node in ours.best


# v1.36.4 pkg/scheduler/schedule_one.go, every plugin in pkg/scheduler/framework/plugins
@pytest.mark.slow  # a hundred and more clusters each
@pytest.mark.parametrize("theme", [*THEMES, *LATER])
def test_both_schedulers_decide_the_same(theme: str):
    assert list(differences(map(scenes.make, scenes.numbers(theme)))) == []


def test_every_scene_is_recorded():
    assert sorted(recorded()) == list(range(scenes.COUNT))


@pytest.mark.slow  # validates some ten thousand objects
def test_scenes_are_what_an_api_server_takes():
    for number in range(0, scenes.COUNT, 10):
        scene = scenes.make(number)
        for kind, obj in (*scene.others, (PODS, scene.pod)):
            assert [str(each) for each in kind.validate(obj)] == [], (number, kind.kind, obj["metadata"]["name"])
