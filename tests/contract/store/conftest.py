"""The three stores, each as a function that opens it."""

import asyncio
import inspect
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.etcd import Etcd

from tiphys.store.etcd import EtcdConfig, EtcdStore
from tiphys.store.interface import SEALED
from tiphys.store.memory import MemoryStore
from tiphys.store.sqlite import SqliteStore


def pytest_pyfunc_call(pyfuncitem):
    """Tests that are coroutines run in an event loop of their own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(scope="session")
def shared_etcd():
    # Not below pytest's own folder, whose paths can be too long for sockets and are kept.
    folder = Path(tempfile.mkdtemp(prefix="tiphys-etcd-"))
    etcd = Etcd(folder)
    etcd.start()
    yield etcd
    etcd.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_etcd():
    """For a test that may stop and start it."""
    with ExitStack() as stack:

        def make(folder: Path, server_tls: Sequence[str | Path] = ()) -> Etcd:
            etcd = Etcd(folder, server_tls)
            etcd.start()
            stack.callback(etcd.stop)
            return etcd

        yield make


@pytest.fixture
def own_etcd(tmp_path, make_etcd):
    return make_etcd(tmp_path)


@pytest.fixture
def etcd_cluster(tmp_path):
    """Three members."""
    members = [Etcd(tmp_path / name, name=name) for name in ("one", "two", "three")]
    for member in members:
        member.folder.mkdir()
        member.cluster = ",".join(f"{each.name}={each.peer}" for each in members)
    try:
        for member in members:
            member.launch()
        for member in members:
            member.wait()
        yield members
    finally:
        for member in members:
            member.stop()


class Reversing:
    """A codec that anyone could see through, but not the store."""

    def seal(self, bucket, name, value):
        return SEALED + f"{bucket}/{name}:".encode() + value[::-1]

    def open(self, bucket, name, kept):
        return kept[len(SEALED) + len(f"{bucket}/{name}:".encode()) :][::-1]

    def is_current(self, bucket, kept):
        return kept.startswith(SEALED)


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        "sqlite, sealed",
        pytest.param("etcd", marks=pytest.mark.etcd),
        pytest.param("etcd, sealed", marks=pytest.mark.etcd),
    ]
)
def open_store(request, tmp_path):
    """Opens an empty store, the first time; after that, again what was written, where the store is durable."""
    kind, _, sealed = request.param.partition(", ")
    codec = Reversing() if sealed else None
    if kind == "memory":

        def opener(**options):
            return MemoryStore.open(**options)

    elif kind == "sqlite":

        def opener(**options):
            return SqliteStore.open(tmp_path / "store.db", codec=codec, **options)

    else:
        etcd = request.getfixturevalue("shared_etcd")
        etcd.wipe()

        def opener(**options):
            return EtcdStore.open(EtcdConfig((etcd.client,)), codec=codec, **options)

    opener.durable = kind != "memory"
    opener.keeps_history = kind == "sqlite"
    return opener
