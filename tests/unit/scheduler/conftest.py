"""Nodes and pods in one readable line, and the scheduler's state without an API server."""

from collections.abc import Callable

import pytest

from tiphys.machinery.tree import Obj
from tiphys.scheduler.testing import Bench, bound, make_node, make_pod

NodeMaker = Callable[..., Obj]
PodMaker = Callable[..., Obj]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def node() -> NodeMaker:
    return make_node


@pytest.fixture
def pod() -> PodMaker:
    return make_pod


@pytest.fixture
def on() -> Callable[[Obj, str], Obj]:
    return bound
