"""The bodies were sent by kubectl v1.36.4, or written by upstream's encoder for objects made up at random."""

import base64
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import decode, field_table, protobuf
from tiphys.machinery.errors import ApiError
from tiphys.machinery.protobuf import messages
from tiphys.machinery.protobuf.wire import Broken

PAIRS = [line.split("\t") for line in (Path(__file__).parent / "protobuf_bodies.tsv").read_text(encoding="utf-8").splitlines()]
BODIES = [base64.b64decode(body) for body, _ in PAIRS]


def without_nulls(value):
    """Go writes some absent values as null; for us null is absent."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go:43
@pytest.mark.parametrize(("body", "expected"), PAIRS, ids=[json.loads(tree)["kind"] for _, tree in PAIRS])
def test_reads_what_upstream_writes(schemas, body, expected):
    tree = protobuf.decode(base64.b64decode(body))
    definition = "io.k8s." + protobuf.message_of(tree["apiVersion"], tree["kind"])
    conformed = decode.conform(tree, schemas.node(definition), [])
    assert without_nulls(conformed) == json.loads(expected)


def wrap(api_version, kind, message, content_type=b""):
    def field(number, value):
        length = bytes([len(value)]) if len(value) < 128 else bytes([len(value) & 0x7F | 0x80, len(value) >> 7])
        return bytes([number << 3 | 2]) + length + value

    meta = field(1, api_version.encode()) + field(2, kind.encode())
    return protobuf.MAGIC + field(1, meta) + field(2, message) + field(3, b"") + field(4, content_type)


def test_delete_options():
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, DeleteOptions
    message = b"\x08\x00\x12\x05\x0a\x03abc\x22\x0aBackground\x2a\x03All"
    expected = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "abc"},
        "propagationPolicy": "Background",
        "dryRun": ["All"],
    }
    assert protobuf.decode(wrap("v1", "DeleteOptions", message)) == expected
    assert protobuf.decode(wrap("policy/v1", "DeleteOptions", message))["preconditions"] == {"uid": "abc"}


def test_negative_numbers_and_fields_that_nobody_knows():
    ten_bytes = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    unknown = b"\xf8\x7f\x05\xf2\x7f\x01x\xf9\x7f12345678\xfd\x7f1234"
    tree = protobuf.decode(wrap("v1", "DeleteOptions", b"\x08" + ten_bytes + unknown))
    assert tree["gracePeriodSeconds"] == -1


def test_packed_numbers():
    # supplementalGroups, field 4 of PodSecurityContext, as an encoder other than gogo's may write them
    pod = b"\x12\x07\x72\x05\x22\x03\x01\xac\x02"
    assert protobuf.decode(wrap("v1", "Pod", pod))["spec"]["securityContext"] == {"supplementalGroups": [1, 300]}


def test_json_inside():
    tree = protobuf.decode(wrap("example.com/v1", "Foo", b'{"a": 1}', b"application/json"))
    assert tree == {"a": 1}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0\x0a\xff", "unexpected EOF"),
        (b"k8s\0\x0a\x05a", "unexpected EOF"),
        (b"k8s\0\x0f", "proto: illegal wireType 7"),
        (b"k8s\0\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (b"k8s\0" + b"\xff" * 11, "proto: integer overflow"),
        (wrap("v1", "Nothing", b""), 'no kind "Nothing" is registered for version "v1" in scheme'),
        (wrap("v1", "DeleteOptions", b"\x0a\x01a"), "proto: wrong wireType = 2 for field gracePeriodSeconds"),
        (wrap("v1", "Pod", b"\x08\x01"), "proto: wrong wireType = 0 for field metadata"),
        (wrap("a/v1", "B", b"{", b"application/json"), "proto: "),
    ],
)
def test_refuses(body, told):
    with pytest.raises(ApiError) as caught:
        protobuf.decode(body)
    assert caught.value.code == 400
    assert caught.value.message.startswith(told)


def test_refuses_endless_nesting():
    schema = b""
    for _ in range(400):
        # JSONSchemaProps.not (field 25), a length of up to three bytes
        size = len(schema)
        length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
        schema = b"\xca\x01" + length + schema
    reader = messages.message("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    with pytest.raises(Broken, match="exceeded max depth"):
        reader(schema, 0, len(schema), 0)


def or_refuse(body):
    with contextlib.suppress(ApiError):
        json.dumps(protobuf.decode(body))


@given(st.sampled_from(BODIES), st.data())
def test_damage_is_the_callers_fault(body, data):
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(4, len(damaged)))
    or_refuse(bytes(damaged))
    or_refuse(bytes(damaged[:cut]))


@given(st.binary(max_size=200), st.sampled_from(["Pod", "Event", "Secret", "ResourceQuota", "Service"]))
def test_noise_is_the_callers_fault(noise, kind):
    or_refuse(protobuf.MAGIC + noise)
    or_refuse(wrap("v1", kind, noise[:120]))


def test_every_type_in_the_table_is_known():
    special = set(messages._SPECIAL)
    empty = {
        "api.apiserverinternal.v1alpha1.StorageVersionSpec",
        "api.scheduling.v1alpha2.BasicSchedulingPolicy",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus",
    }
    for message in field_table._blocks():
        for each in field_table.fields(message):
            assert each.type in field_table.SCALARS or each.type in special | empty or field_table.known(each.type)
