"""What is true of the store on etcd alone: its keys, its values, and how it lives through the failures of etcd.

Authority: https://etcd.io/docs/v3.5/learning/api/; the layout of keys is upstream's: v1.36.4
pkg/kubeapiserver/default_storage_factory_builder.go:46 and, of its apiextensions-apiserver, pkg/registry/customresource/etcd.go
"""

import asyncio
import contextlib
import datetime
import ipaddress
import time

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tiphys.machinery.record import encode
from tiphys.store.etcd import EtcdConfig, EtcdStore
from tiphys.store.interface import SEALED, Compacted, Delete, Mismatch, Put, Unavailable

pytestmark = pytest.mark.etcd


def pod(name, note=""):
    return encode({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": note})


def put(name, note="", expect=None, bucket="pods"):
    return Put(bucket, name, pod(name, note), expect)


def told(watch):
    return [(event.record.name, event.deleted, event.record.tree()["note"]) for event in watch]


async def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def write_through(store, op):
    """A client that tries again, as all must who talk to etcd while it is away."""
    end = time.monotonic() + 60
    while True:
        try:
            return await store.write([op])
        except Unavailable:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)


@pytest.fixture
def etcd(shared_etcd):
    shared_etcd.wipe()
    return shared_etcd


def open_store(etcd, **options):
    return EtcdStore.open(EtcdConfig((etcd.client,)), **options)


def value_of(etcd, key):
    (kv,) = etcd.call("KV", "Range", key=key.encode()).kvs
    return kv.value


@pytest.mark.parametrize(
    ("bucket", "name", "key"),
    [
        ("pods", "default/web", "/registry/pods/default/web"),
        ("minions", "node-1", "/registry/minions/node-1"),
        ("services/specs", "default/web", "/registry/services/specs/default/web"),
        ("example.com/widgets", "default/web", "/registry/example.com/widgets/default/web"),
        ("apiregistration.k8s.io/apiservices", "v1.apps", "/registry/apiregistration.k8s.io/apiservices/v1.apps"),
    ],
)
async def test_keys_and_values_are_laid_out_as_upstream_does(etcd, bucket, name, key):
    async with open_store(etcd) as store:
        await store.write([put(name, "1", bucket=bucket)])
        assert value_of(etcd, key) == pod(name, "1")
        etcd.put(key, pod(name, "2"))
        record = await store.get(bucket, name)
        assert (record.bucket, record.name, record.tree()["note"]) == (bucket, name, "2")


class Sealed:
    """Seals with a letter; reads all letters."""

    def __init__(self, letter):
        self._prefix = SEALED + letter

    def seal(self, bucket, name, value):
        return self._prefix + value[::-1]

    def open(self, bucket, name, kept):
        return kept[len(self._prefix) :][::-1] if kept.startswith(SEALED) else kept

    def is_current(self, bucket, kept):
        return kept.startswith(self._prefix)


# https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/#rotating-a-decryption-key: all objects are written again
async def test_what_is_sealed_with_an_old_key_is_known_until_it_is_written_again(etcd):
    async with open_store(etcd, codec=Sealed(b"a")) as store:
        await store.write([put("default/one")])
        await store.write([put("default/two")])
        assert not store.is_stale("pods", "default/one")
    assert value_of(etcd, "/registry/pods/default/one").startswith(SEALED + b"a")
    async with open_store(etcd, codec=Sealed(b"b")) as store:
        record = await store.get("pods", "default/one")
        assert store.is_stale("pods", "default/one")
        await store.write([Put("pods", "default/one", pod("default/one"), record.revision)])
        await store.write([Delete("pods", "default/two")])
        assert not store.is_stale("pods", "default/one")
        assert not store.is_stale("pods", "default/two")
    assert value_of(etcd, "/registry/pods/default/one").startswith(SEALED + b"b")


async def test_a_bucket_that_could_not_be_told_from_its_keys_is_refused(etcd):
    async with open_store(etcd) as store:
        with pytest.raises(ValueError, match="cannot be a bucket"):
            await store.write([put("web", bucket="some/thing")])


@pytest.mark.parametrize(
    "value",
    [
        # A built-in kind as upstream's JSON serializer writes it, with the newline at its end.
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"1"},"note":"n"}\n',
        # A custom resource: keys in order.
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"note":"n"}\n',
        # `metadata` is not the first of its name, nor is it where it was looked for.
        b'{"apiVersion":"v1","data":{"metadata":{"name":"no"}},"kind":"Pod","metadata":{"name":"x"},"note":"n"}',
        b'{ "kind": "Pod", "apiVersion": "v1", "note": "n", "metadata": { "name": "x", "resourceVersion": "7" } }',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"x"},"note":"n"}',
    ],
)
async def test_values_that_others_have_written_are_understood(etcd, value):
    etcd.put("/registry/pods/default/early", value)
    async with open_store(etcd) as store:
        late = etcd.put("/registry/pods/default/late", value)
        for name in ("early", "late"):
            record = await store.get("pods", f"default/{name}")
            tree = orjson.loads(record.data)
            assert record.data.count(b'"resourceVersion"') == 1
            assert tree["metadata"]["resourceVersion"] == str(record.revision)
            assert (tree["metadata"]["name"], tree["note"]) == ("x", "n")
        assert record.revision == late
        await store.write([Delete("pods", "default/late", late)])


async def test_values_that_are_not_objects_in_json_are_left_out(etcd, capsys):
    etcd.put("/registry/pods/default/binary", b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod")
    async with open_store(etcd) as store:
        etcd.put("/registry/pods/default/list", b"[]")
        etcd.put("/registry/pods/default/odd", b'{"metadata":7}')
        etcd.put("elsewhere", b"x")
        assert list((await store.list("pods")).records) == []
        with pytest.raises(Mismatch):
            await store.write([put("default/list", expect=0)])
        await store.write([put("default/list")])
        # An object that turns into something else is gone, for all we know.
        events = []
        store.watch("pods", "", store.revision, lambda batch, _: events.extend(batch))
        revision = etcd.put("/registry/pods/default/list", b"\xff")
        assert await store.get("pods", "default/list") is None
        assert [(event.deleted, event.revision) for event in events] == [(True, revision)]
    told = 'store] "a value in etcd is not an object in JSON, and is not served" key="/registry/pods/default/binary"'
    assert told in capsys.readouterr().err


async def test_reads_see_what_others_have_written(etcd):
    async with open_store(etcd) as one, open_store(etcd) as other:
        for number in range(20):
            (record,) = await one.write([put("a/x", str(number))])
            found = await other.get("pods", "a/x")
            assert (found.revision, found.data) == (record.revision, record.data)
            listing = await other.list("pods", revision=record.revision)
            assert [each.data for each in listing.records] == [record.data]
        revision = etcd.put("somebody/else", b"x")
        assert (await other.list("pods")).revision == revision


async def test_readers_at_one_time_share_one_question(etcd):
    async with open_store(etcd) as store:
        await store.write([put("a/x")])
        asked = []
        ask = store._connection.ask

        async def count(service, name, request):
            asked.append(name)
            return await ask(service, name, request)

        store._connection.ask = count
        async with asyncio.TaskGroup() as group:
            reads = [group.create_task(store.get("pods", "a/x")) for _ in range(100)]
        assert all(read.result() is not None for read in reads)
        # One that was asked before the last reader came is not an answer for it.
        assert 1 <= len(asked) <= 2


async def test_etcd_may_go_away_and_come_back(own_etcd):
    async with open_store(own_etcd) as store:
        events = []
        store.watch("pods", "", store.revision, lambda batch, _: events.extend(batch))
        await store.write([put("a/0", "0")])
        own_etcd.stop()
        with pytest.raises(Unavailable):
            await store.write([put("a/lost")])
        assert store.peek("pods", "a/0") is not None
        reading = asyncio.ensure_future(store.get("pods", "a/0"))  # noqa: TID251
        await asyncio.to_thread(own_etcd.start)
        assert (await reading).tree()["note"] == "0"
        own_etcd.put("/registry/pods/a/1", pod("a/1", "1"))
        await write_through(store, put("a/2", "2"))
        await write_through(store, Delete("pods", "a/0"))
        await store.get("pods", "a/2")
        assert told(events) == [("a/0", False, "0"), ("a/1", False, "1"), ("a/2", False, "2"), ("a/0", True, "0")]


async def test_a_compaction_while_the_mirror_was_away_is_bridged(own_etcd):
    async with open_store(own_etcd) as store:
        for name in ("changed", "deleted", "replaced", "kept"):
            await store.write([put(f"a/{name}", "old")])
        start = store.revision
        events = []
        store.watch("pods", "", start, lambda batch, _: events.extend(batch))
        with partition(store):
            for _ in range(5):
                own_etcd.put("/registry/pods/a/changed", pod("a/changed", "new"))
            own_etcd.delete("/registry/pods/a/deleted")
            own_etcd.delete("/registry/pods/a/replaced")
            replaced = own_etcd.put("/registry/pods/a/replaced", pod("a/replaced", "new"))
            last = own_etcd.put("/registry/pods/a/added", pod("a/added", "new"))
            own_etcd.call("KV", "Compact", revision=last, physical=True)
            await until(lambda: store.revision == start)
        listing = await store.list("pods")
        assert listing.revision == last
        assert [(record.name, record.tree()["note"]) for record in listing.records] == [
            ("a/added", "new"),
            ("a/changed", "new"),
            ("a/kept", "old"),
            ("a/replaced", "new"),
        ]
        assert sorted(told(events)) == [
            ("a/added", False, "new"),
            ("a/changed", False, "new"),
            ("a/deleted", True, "old"),
            ("a/replaced", False, "new"),
            ("a/replaced", True, "old"),
        ]
        revisions = [event.revision for event in events]
        assert revisions == sorted(revisions)
        assert store.peek("pods", "a/replaced").created == replaced
        assert store.oldest == last
        with pytest.raises(Compacted):
            store.watch("pods", "", start, lambda *_: None)
        (record,) = await write_through(store, put("a/kept", "newer"))
        assert events[-1].revision == record.revision


@contextlib.contextmanager
def partition(store):
    """The mirror's watch breaks and cannot be made again."""
    mirror = store._mirror
    follow, stream = mirror._follow, mirror._connection.stream

    def refuse(*_):
        raise Unavailable("partitioned")

    mirror._connection.stream = refuse
    mirror._stream.cancel()
    yield follow
    mirror._connection.stream = stream


async def test_the_next_member_is_used_when_one_is_gone(etcd):
    async with EtcdStore.open(EtcdConfig(("http://127.0.0.1:9", etcd.client))) as store:
        (record,) = await write_through(store, put("a/x", "1"))
        assert (await store.get("pods", "a/x")).revision == record.revision


@pytest.mark.slow  # An election takes a second or more, and there are three.
async def test_members_and_leaders_may_go_and_nothing_acknowledged_is_lost(etcd_cluster):
    acknowledged, events = {}, []
    config = EtcdConfig([member.client for member in etcd_cluster])
    async with EtcdStore.open(config) as store:
        store.watch("pods", "", store.revision, lambda batch, _: events.extend(batch))
        stopping = False

        async def work(writer):
            number = 0
            while not stopping:
                number += 1
                (record,) = await write_through(store, put(f"a/{writer}", number))
                acknowledged[record.name] = (number, record.revision)

        async with asyncio.TaskGroup() as group:
            for writer in range(4):
                group.create_task(work(writer))
            # Each is away once, so the leader is too.
            for member in etcd_cluster:
                before = store.revision
                await until(lambda floor=before: store.revision > floor + 20)
                member.stop()
                before = store.revision
                await until(lambda floor=before: store.revision > floor + 20)
                await asyncio.to_thread(member.start)
            stopping = True
        listing = await store.list("pods")
        for record in listing.records:
            number, revision = acknowledged[record.name]
            assert record.tree()["note"] == number
            assert record.revision >= revision
        revisions = [event.revision for event in events]
        assert revisions == sorted(set(revisions))
        # No event is missing: each tells of the one before it.
        seen = {}
        for event in events:
            assert (event.previous.revision if event.previous else None) == seen.get(event.record.name)
            seen[event.record.name] = event.revision
        held = [(record.name, record.data) for record in listing.records]
    for member in etcd_cluster:
        async with EtcdStore.open(EtcdConfig((member.client,))) as store:
            assert [(record.name, record.data) for record in (await store.list("pods")).records] == held


async def test_no_member_at_all_is_told():
    with pytest.raises(Unavailable, match=r"etcd at 127\.0\.0\.1:9 does not answer"):
        async with EtcdStore.open(EtcdConfig(("http://127.0.0.1:9",), patience=0.5)):
            pass


async def test_another_history_ends_the_store(own_etcd, tmp_path):
    async with open_store(own_etcd) as store:
        for number in range(5):
            await store.write([put("a/x", str(number))])
        own_etcd.stop()
        (own_etcd.folder / "data").rename(own_etcd.folder / "away")
        await asyncio.to_thread(own_etcd.start)
        with pytest.raises(Unavailable, match="another history"):
            await asyncio.wait_for(store.failed(), 60)
        with pytest.raises(Unavailable, match="another history"):
            await store.write([put("a/x")])
        with pytest.raises(Unavailable, match="another history"):
            await store.get("pods", "a/x")


async def test_compaction_reaches_etcd(etcd):
    async with open_store(etcd) as store:
        for number in range(5):
            (record,) = await store.write([put("a/x", str(number))])
        await store.compact(record.revision)
        await store.compact(record.revision)
        assert store.size() > 0
    with pytest.raises(Exception, match="has been compacted"):
        etcd.call("KV", "Range", key=b"x", revision=record.revision - 1)


async def test_what_etcd_refuses_is_told(etcd):
    async with open_store(etcd) as store:
        with pytest.raises(ValueError, match="request is too large"):
            await store.write([put("a/x", "x" * 2_000_000)])


async def test_many_objects_are_loaded_in_pages(etcd):
    async with open_store(etcd) as store, asyncio.TaskGroup() as group:
        for number in range(0, 2500, 50):
            group.create_task(store.write([put(f"a/{each:04}") for each in range(number, number + 50)]))
    async with open_store(etcd) as store:
        assert [record.name for record in (await store.list("pods")).records] == [f"a/{each:04}" for each in range(2500)]


def make_certificates(folder):
    """One self-signed certificate, which is its own authority and serves both sides."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "etcd")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(addresses, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return folder / "cert.pem", folder / "key.pem"


async def test_mutual_tls(tmp_path, make_etcd):
    cert, key = make_certificates(tmp_path)
    server = ["--cert-file", cert, "--key-file", key, "--trusted-ca-file", cert, "--client-cert-auth"]
    etcd = make_etcd(tmp_path, server)
    async with EtcdStore.open(EtcdConfig((etcd.client,), ca=cert, cert=cert, key=key)) as store:
        await store.write([put("a/x", "1")])
        assert (await store.get("pods", "a/x")).tree()["note"] == "1"
    with pytest.raises(Unavailable):
        async with EtcdStore.open(EtcdConfig((etcd.client,), ca=cert, patience=0.5)):
            pass


async def test_clusters_share_an_etcd_by_their_prefixes(own_etcd):
    mine, yours = (EtcdConfig((own_etcd.client,), prefix=each) for each in ("/mine", "/yours"))
    async with EtcdStore.open(mine) as store, EtcdStore.open(yours) as other:
        await store.write([put("a/x", "mine")])
        await other.write([put("a/x", "yours")])
        await store.write([put("a/y", "mine")])
        assert [record.name for record in (await other.list("pods")).records] == ["a/x"]
        assert [record.name for record in (await store.list("pods")).records] == ["a/x", "a/y"]
