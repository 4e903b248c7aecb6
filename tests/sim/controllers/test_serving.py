"""What the controllers tell of themselves: health, queues, and each turn that did something."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.base.http.messages import Peer, Request
from tiphys.controllers.registry import Settings, controllers
from tiphys.controllers.serving import Handler, explained
from tiphys.machinery.errors import ApiError
from tiphys.machinery.feature_gates import FeatureGates
from tiphys.machinery.zpages import ZPages


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def test_what_a_controller_did_and_what_woke_it():
    async def scenario(cluster: Cluster) -> None:
        metadata = {"name": "fresh"}
        await cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        await cluster.settle()
        assert cluster.manager is not None
        runners = cluster.manager.runners
        listed = orjson.loads(bytes(explained(runners, "/").body))["controllers"]
        assert [each["name"] for each in listed] == [each.controller.name for each in runners]
        told = orjson.loads(bytes(explained(runners, "/serviceaccount-controller/fresh").body))
        assert told["state"] == "at rest"
        (turn,) = told["turns"]
        assert turn["wrote"] == ["create ServiceAccount default"]
        assert turn["cause"] == "Namespace fresh new"
        assert turn["outcome"] == "done"
        with pytest.raises(ApiError):
            explained(runners, "/nobody")

    simulate(scenario, every)


def test_health_is_for_everybody_and_the_rest_for_this_machine():
    problems = ["the caches are being filled"]
    pages = ZPages("kube-controller-manager", FeatureGates(), {"v": "2"}, 0.0, lambda: 1.0, lambda separators: separators[0])
    handler = Handler([], lambda: b"metrics", lambda: problems[0], pages)

    def ask(path: str, peer: str = "10.0.0.1") -> tuple[int, bytes]:
        found = asyncio.run(handler.answer(Request("GET", path, "", {}, peer=Peer(peer))))
        return found.status, bytes(found.body)

    assert ask("/healthz") == ask("/livez") == (200, b"ok")
    assert ask("/readyz") == (500, b"the caches are being filled")
    problems[0] = ""
    assert ask("/readyz") == (200, b"ok")
    assert ask("/metrics")[0] == ask("/explain/controllers")[0] == ask("/flagz")[0] == ask("/statusz")[0] == 403
    assert ask("/flagz", "127.0.0.1")[1].endswith(b"\nv:2\n")
    assert b"Paths: /explain /flagz /healthz /livez /metrics /readyz /statusz\n" in ask("/statusz", "::1")[1]
    assert ask("/metrics", "127.0.0.1") == (200, b"metrics")
    assert ask("/explain/controllers", "::1")[0] == 200
    assert ask("/explain/controllers/nobody", "::1")[0] == ask("/else", "::1")[0] == 404
