"""A write that changes nothing, of an object that is kept as nobody would keep it today.

Authority: v1.36.4 staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate: stale data make a write happen all
the same.
"""

import asyncio
from types import SimpleNamespace

import pytest

from tiphys.apiserver.rest import storing
from tiphys.machinery.record import encode
from tiphys.store.interface import Put
from tiphys.store.memory import MemoryStore

SECRET = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "t"}, "data": {"a": "Yg=="}}


class Aged(MemoryStore):
    """What it held at first counts as sealed with an old key."""

    __slots__ = ("old",)

    def is_stale(self, bucket, name):
        record = self.peek(bucket, name)
        return record is not None and record.revision == self.old


@pytest.mark.parametrize("dry_run", [False, True])
def test_it_is_written_again_once(dry_run):
    async def run():
        store = Aged()
        (record,) = await store.write([Put("secrets", "t/s", encode(SECRET))])
        store.old = record.revision
        call = SimpleNamespace(dry_run=dry_run, backend=SimpleNamespace(store=store))
        again = await storing.unchanged(call, record)
        assert (again.revision > record.revision) is not dry_run
        assert again.tree()["data"] == SECRET["data"]
        assert await storing.unchanged(call, again) is again

    asyncio.run(run())
