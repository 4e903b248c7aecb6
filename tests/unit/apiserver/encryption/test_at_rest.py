"""Secrets in a data directory, with the codec that a configuration file describes.

Authority: https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/ and, for the form of the values,
v1.36.4 staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:58-75.
"""

import asyncio
import base64
import itertools
from concurrent import futures

import grpc
import pytest

from tiphys.api.registry import KINDS
from tiphys.apiserver.encryption import configuration, kms
from tiphys.apiserver.encryption.codec import EncryptionCodec, resources_of
from tiphys.machinery.record import encode
from tiphys.store.interface import Delete, Put, Unavailable
from tiphys.store.sqlite import SqliteStore, UnusableFile, restore

ONE, TWO = base64.b64encode(bytes(32)).decode(), base64.b64encode(bytes(range(32))).decode()
PLAINTEXT = b"c3RlYWwgbWUgaWYgeW91IGNhbg"
RESOURCES = resources_of(KINDS)


def config(*providers, resources=("secrets",)):
    return {
        "kind": "EncryptionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "resources": [{"resources": list(resources), "providers": list(providers)}],
    }


def keys(cipher, *named):
    return {cipher: {"keys": [{"name": name, "secret": secret} for name, secret in named]}}


def encryption(*providers, resources=("secrets",)):
    numbers = itertools.count()
    # JSON is YAML.
    return configuration.read(
        encode({"metadata": {}, **config(*providers, resources=resources)}).decode(), lambda: str(next(numbers))
    )


def codec(*providers, resources=("secrets",)):
    return EncryptionCodec(encryption(*providers, resources=resources).rules, RESOURCES)


def secret(name="one", value=PLAINTEXT):
    tree = {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"a": value.decode()},
    }
    return Put("secrets", f"default/{name}", encode(tree))


def on_disk(folder):
    return b"".join(file.read_bytes() for file in folder.iterdir())


IDENTITY = {"identity": {}}
WAYS = {
    "aescbc": keys("aescbc", ("key1", ONE)),
    "aesgcm": keys("aesgcm", ("key1", ONE)),
    "secretbox": keys("secretbox", ("key1", ONE)),
}


@pytest.mark.parametrize("cipher", WAYS)
def test_no_plaintext_in_the_data_directory_and_nothing_else_in_memory(tmp_path, cipher):
    seen = []

    async def run():
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS[cipher])) as store:
            store.watch("secrets", "", store.revision, lambda events, revision: seen.extend(events))
            (record,) = await store.write([secret()])
            await store.write([secret("gone")])
            await store.write([Delete("secrets", "default/gone")])
            assert PLAINTEXT in record.data
            assert PLAINTEXT in (await store.get("secrets", "default/one")).data
            assert PLAINTEXT not in on_disk(tmp_path)
            await store.backup(tmp_path / "copy.db")
        assert PLAINTEXT not in on_disk(tmp_path)
        assert f"k8s:enc:{cipher}:v1:key1:".encode() in on_disk(tmp_path)
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS[cipher])) as store:
            assert PLAINTEXT in (await store.get("secrets", "default/one")).data
            assert await store.get("secrets", "default/gone") is None

    asyncio.run(run())
    assert [PLAINTEXT in event.record.data for event in seen] == [True, True, True]


def test_other_resources_stay_as_they_are(tmp_path):
    async def run():
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS["aesgcm"])) as store:
            await store.write([Put("configmaps", "default/one", secret().value)])
        assert PLAINTEXT in on_disk(tmp_path)

    asyncio.run(run())


def test_what_was_plain_is_sealed_at_the_next_start_and_leaves_no_trace(tmp_path):
    async def run():
        async with SqliteStore.open(tmp_path / "s.db") as store:
            for _ in range(20):
                await store.write([secret(value=PLAINTEXT * 400)])
        assert PLAINTEXT in on_disk(tmp_path)
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS["secretbox"], IDENTITY)) as store:
            assert PLAINTEXT in (await store.get("secrets", "default/one")).data
        assert PLAINTEXT not in on_disk(tmp_path)

    asyncio.run(run())


def test_the_first_key_writes_and_all_keys_read(tmp_path):
    async def stored_with(*providers):
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(*providers)) as store:
            assert PLAINTEXT in (await store.get("secrets", "default/one")).data

    async def run():
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS["aesgcm"])) as store:
            await store.write([secret()])
        await stored_with(keys("aesgcm", ("key2", TWO), ("key1", ONE)))
        assert b"k8s:enc:aesgcm:v1:key1:" not in on_disk(tmp_path)
        await stored_with(keys("aesgcm", ("key2", TWO)))
        with pytest.raises(Unavailable, match="default/one cannot be decrypted: no matching prefix found"):
            await stored_with(WAYS["aesgcm"])
        await stored_with(IDENTITY, keys("aesgcm", ("key2", TWO)))
        assert PLAINTEXT in on_disk(tmp_path)

    asyncio.run(run())


def test_without_its_configuration_a_sealed_file_is_not_opened_but_can_be_restored(tmp_path):
    async def run():
        async with SqliteStore.open(tmp_path / "s.db", codec=codec(WAYS["aescbc"])) as store:
            await store.write([secret()])
            await store.backup(tmp_path / "copy.db")
        with pytest.raises(UnusableFile, match="secrets/default/one is encrypted"):
            async with SqliteStore.open(tmp_path / "s.db"):
                raise AssertionError("it must not open")
        restore(tmp_path / "copy.db", tmp_path / "new.db")
        async with SqliteStore.open(tmp_path / "new.db", codec=codec(WAYS["aescbc"])) as store:
            assert PLAINTEXT in (await store.get("secrets", "default/one")).data

    asyncio.run(run())


def test_plain_values_are_not_taken_where_identity_is_not_listed():
    with pytest.raises(Unavailable, match="no matching prefix found"):
        codec(WAYS["aesgcm"]).open("secrets", "default/one", b"{}")


@pytest.mark.parametrize(
    ("resources", "bucket", "covered"),
    [
        (("secrets",), "secrets", True),
        (("secrets",), "configmaps", False),
        (("*.",), "configmaps", True),
        (("*.",), "deployments", False),
        (("*.apps",), "deployments", True),
        (("deployments.apps",), "deployments", True),
        (("deployments",), "deployments", False),
        (("*.*",), "example.com/widgets", True),
        (("widgets.example.com",), "example.com/widgets", True),
        (("nodes",), "minions", True),
    ],
)
def test_resources_may_be_named_by_group_or_all_at_once(resources, bucket, covered):
    sealed = codec(WAYS["aesgcm"], resources=resources).seal(bucket, "one", b"{}")
    assert (sealed != b"{}") is covered


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ({}, "provider does not contain any of the expected providers"),
        ({"identity": {}, **WAYS["aescbc"]}, "more than one provider specified in a single element"),
        (keys("aescbc"), "keys: Required value: at least one key is required"),
        (keys("aescbc", ("", ONE)), "key name is required"),
        (keys("aescbc", ("a", "")), "secret is required"),
        (keys("aescbc", ("a", "?")), "secrets must be base64 encoded"),
        (keys("aescbc", ("a", "AAAA")), r"secret is not of the expected length, got 3, expected one of \[16 24 32\]"),
        (keys("secretbox", ("a", "AAAA")), r"expected one of \[32\]"),
        ({"kms": {"name": "a", "endpoint": "unix:///a"}}, "only v2 is supported"),
        ({"kms": {"apiVersion": "v2", "name": "a:b", "endpoint": "unix:///a"}}, "must not contain ':'"),
        ({"kms": {"apiVersion": "v2", "name": "a", "endpoint": "tcp://a"}}, "unsupported scheme"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(provider, told):
    with pytest.raises(configuration.Unusable, match=told):
        encryption(provider)


class Plugin(grpc.GenericRpcHandler):
    """A key management service whose key is a number added to every byte."""

    def __init__(self):
        self.key = 1
        self.asked = []

    def service(self, details):
        methods = kms.protos().services["KeyManagementService"]
        name = details.method.rpartition("/")[2]
        method = methods[name]
        return grpc.unary_unary_rpc_method_handler(
            lambda request, _: self.answer(name, method, request), method.request.FromString, method.response.SerializeToString
        )

    def answer(self, name, method, request):
        self.asked.append(name)
        if name == "Status":
            return method.response(version="v2", healthz="ok", key_id=f"key-{self.key}")
        if name == "Encrypt":
            hidden = bytes((each + self.key) % 256 for each in request.plaintext)
            return method.response(ciphertext=hidden, key_id=f"key-{self.key}", annotations={"tests.example.com": b"1"})
        assert request.annotations["tests.example.com"] == b"1"
        key = int(request.key_id.removeprefix("key-"))
        return method.response(plaintext=bytes((each - key) % 256 for each in request.ciphertext))


@pytest.fixture
def plugin(tmp_path_factory):
    made = Plugin()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((made,))
    made.endpoint = f"unix://{tmp_path_factory.mktemp('kms')}/socket"
    server.add_insecure_port(made.endpoint)
    server.start()
    yield made
    server.stop(None).wait()


def with_plugin(plugin):
    made = encryption({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint, "timeout": "5s"}})
    made.refresh()
    return made, EncryptionCodec(made.rules, RESOURCES)


# KEP-3299: one seed, sealed by the plugin, for many values; a new one when the plugin's key has changed
def test_a_key_management_service_is_asked_once_for_many_values(plugin):
    made, sealing = with_plugin(plugin)
    first = [sealing.seal("secrets", f"default/{number}", b"{}") for number in range(5)]
    assert all(each.startswith(b"k8s:enc:kms:v2:vault:") for each in first)
    assert plugin.asked == ["Status", "Encrypt"]
    assert sealing.open("secrets", "default/0", first[0]) == b"{}"
    plugin.key = 2
    assert sealing.is_current("secrets", first[0])
    made.refresh()
    assert not sealing.is_current("secrets", first[0])
    assert sealing.open("secrets", "default/1", first[1]) == b"{}"
    assert plugin.asked.count("Decrypt") == 0

    _, another = with_plugin(plugin)
    assert [another.open("secrets", f"default/{number}", each) for number, each in enumerate(first)] == [b"{}"] * 5
    assert plugin.asked.count("Decrypt") == 1
    with pytest.raises(Unavailable, match="cannot be decrypted"):
        another.open("secrets", "default/elsewhere", first[0])


def test_a_key_management_service_that_is_away_is_the_environments_fault(tmp_path):
    made = encryption({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": f"unix://{tmp_path}/none", "timeout": "1s"}})
    with pytest.raises(Unavailable, match="does not answer"):
        made.refresh()
    with pytest.raises(Unavailable, match="has not answered yet"):
        EncryptionCodec(made.rules, RESOURCES).seal("secrets", "default/one", b"{}")
