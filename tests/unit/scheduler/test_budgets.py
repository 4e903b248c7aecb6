"""Which pods their disruption budgets do not allow to go."""

from typing import Any

import pytest

from tiphys.scheduler import pod_info
from tiphys.scheduler.budgets import Budgets
from tiphys.scheduler.testing import make_pod


def budget(allowed: int, selector: Any, gone: Any = None) -> Any:
    return {"spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed, "disruptedPods": gone or {}}}


# v1.36.4 pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation)
@pytest.mark.parametrize(
    ("budgets", "violating"),
    [
        ({}, []),
        ({"default": {"x": budget(0, {"matchLabels": {"app": "x"}})}}, ["x1", "x2"]),
        ({"default": {"x": budget(1, {"matchLabels": {"app": "x"}})}}, ["x2"]),
        ({"default": {"x": budget(0, {"matchLabels": {"app": "x"}}, {"x1": "2026-01-01T00:00:00Z"})}}, ["x2"]),
        ({"default": {"every": budget(0, {})}}, []),
        ({"default": {"labelled": budget(0, {"matchExpressions": [{"key": "y", "operator": "DoesNotExist"}]})}}, ["x1", "x2"]),
        ({"elsewhere": {"x": budget(0, {"matchLabels": {"app": "x"}})}}, []),
        (
            {"default": {"x": budget(1, {"matchLabels": {"app": "x"}}), "two": budget(0, {"matchLabels": {"n": "1"}})}},
            ["x1", "x2"],
        ),
    ],
)
def test_those_that_their_budgets_do_not_allow_to_go(budgets: Any, violating: list[str]):
    labels = {"x1": {"app": "x", "n": "1"}, "x2": {"app": "x"}, "bare": {}}
    pods = [pod_info.of(make_pod(name, labels=each)) for name, each in labels.items()]
    found = Budgets(budgets).split(pods)
    assert [[each.name for each in part] for part in found] == [violating, [name for name in labels if name not in violating]]
