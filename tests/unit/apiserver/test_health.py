"""What the health endpoints find out. Authority: https://kubernetes.io/docs/reference/using-api/health-checks/."""

import asyncio

from tests.virtual_loop import run

from tiphys.apiserver.health import Health, fine, store_answers, unless
from tiphys.store.interface import Unavailable
from tiphys.store.memory import MemoryStore


class GoneStore(MemoryStore):
    async def get(self, bucket, name):
        raise Unavailable("etcd at there does not answer")


class SilentStore(MemoryStore):
    async def get(self, bucket, name):
        await asyncio.Event().wait()


async def ask(store, path, query=None):
    health = Health({"ping": fine, "etcd": store_answers(store), "shutdown": unless(lambda: "")})
    answer = await health.answer(path.split("/")[1], path, query or {})
    return answer.status, answer.body.decode()


def test_a_store_that_answers():
    assert run(ask(MemoryStore(), "/readyz")) == (200, "ok")
    assert run(ask(MemoryStore(), "/livez/etcd")) == (200, "ok")


def test_a_store_that_does_not():
    for path in ("/healthz", "/livez", "/readyz"):
        status, told = run(ask(GoneStore(), path))
        assert status == 500
        assert told.splitlines()[:2] == ["[+]ping ok", "[-]etcd failed: reason withheld"]
        assert told.endswith(f"\n{path[1:]} check failed\n")
    gone = (500, "internal server error: etcd at there does not answer\n")
    assert run(ask(GoneStore(), "/readyz/etcd")) == gone
    assert run(ask(SilentStore(), "/readyz/etcd")) == (500, "internal server error: the store does not answer\n")
    assert run(ask(GoneStore(), "/readyz", {"exclude": ["etcd"]})) == (200, "ok")


def test_what_only_readiness_asks():
    assert run(ask(MemoryStore(), "/readyz/shutdown")) == (200, "ok")
    assert run(ask(MemoryStore(), "/livez/shutdown"))[0] == 404
