import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.decode import Parsed, cannot_handle, parse, strict_problem, strict_warnings
from tiphys.machinery.errors import ApiError

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"


def read(body, media=JSON, find=True, wanted="Pod"):
    return parse(body.encode(), media, find_duplicates=find, wanted=wanted)


# v1.36.4 vendor/sigs.k8s.io/json/internal/golang/encoding/json/kubernetes_patch.go:73
@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        ('{"a":1,"b":2}', ()),
        ('{"a":1, "b":{"a":1},"c":[{"a":1},{"a":1}]}', ()),
        ('{"a":1,"a":1}', ("a",)),
        ('{"a":1,"a":1,"a":2}', ("a",)),
        ('{"spec":{"replicas":1,"x":{"a b":1,"a b":2},"replicas":2}}', ("spec.x.a b", "spec.replicas")),
        ('{"a":[{"b":1},{"b":1,"b":2}]}', ("a[1].b",)),
        (' {"a" : "\\u003c", "b": 1e2}\n', ()),
    ],
)
def test_duplicate_fields(body, duplicates):
    assert read(body).duplicates == duplicates
    assert read(body).tree == json.loads(body)
    assert read(body, find=False).duplicates == ()


def test_yaml_tells_lines_of_duplicates():
    # v1.36.4 test/e2e/apimachinery/field_validation.go, "should detect duplicates in a CR when preserving unknown fields"
    parsed = read('a:\n  b: 1\n  c: 2\n  b: 3\n"a": x\n', YAML)
    told = 'yaml: unmarshal errors:\n  line 4: key "b" already set in map\n  line 5: key "a" already set in map'
    assert parsed == Parsed({"a": "x"}, (told,), yaml=True)
    assert strict_problem(["spec.x"], list(parsed.duplicates)) == f'strict decoding error: {told}, unknown field "spec.x"'
    assert read("a: 1\na: 2", YAML, find=False).duplicates == ()


def test_json_under_the_name_of_yaml():
    assert read('{"a": [1, null]}', YAML) == Parsed({"a": [1, None]}, yaml=True)
    assert read('{"a": 1, "a": 2}', YAML).duplicates == ('yaml: unmarshal errors:\n  line 1: key "a" already set in map',)
    assert read("{a: b}", YAML).tree == {"a": "b"}


def test_strict_texts():
    # v1.36.4 test/e2e/apimachinery/field_validation.go:104
    told = 'strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"'
    assert strict_problem(["spec.unknownField"], ["spec.replicas"]) == told
    assert strict_warnings(["a", "a"], ["b"]) == ['unknown field "a"', 'duplicate field "b"']
    assert len(strict_warnings([str(each) for each in range(300)], [])) == 100
    refusal = cannot_handle("Deployment", "apps/v1", "Deployment", told)
    assert refusal.message == f'Deployment in version "v1" cannot be handled as a Deployment: {told}'


def test_complaints_follow_the_body():
    # As measured with upstream v1.36.4
    parsed = read('{"a":1,"data":{"x":"1","x":"2"},"metadata":{"name":"q","b":2},"data":{}}')
    told = strict_warnings(["a", "metadata.b"], list(parsed.duplicates), parsed.order)
    assert told == ['unknown field "a"', 'duplicate field "data.x"', 'unknown field "metadata.b"', 'duplicate field "data"']


@pytest.mark.parametrize("body", ["null", " null ", "{}"])
def test_nothing_is_an_empty_object(body):
    assert read(body).tree == {}
    assert read("", YAML).tree == {}
    assert read("# nothing\n", YAML).tree == {}


# v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go:245
@pytest.mark.parametrize(
    ("body", "media", "told"),
    [
        (
            "hello",
            JSON,
            "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value (68656c6c6f)",
        ),
        ("", JSON, "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (
            '{"apiVersion":"v1","kind":"Pod",}',
            JSON,
            "couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string "
            '({"apiVersion":"v1","kind":"Pod ...)',
        ),
        (
            "[]",
            JSON,
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
        ),
        (
            '{"kind":5}',
            JSON,
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
            'of type string ({"kind":5})',
        ),
        ("a: b: c", YAML, "yaml: mapping values are not allowed in this context (613a20623a2063)"),
        ("a:\n- b\n c: d", YAML, "yaml: line 3: mapping values are not allowed in this context (613a0a2d20620a20633a2064)"),
        ("[" * 400 + "]" * 400, JSON, "exceeded max depth (" + "5b" * 30 + " ...)"),
        ("[" * 100000, YAML, "yaml: exceeded max depth (" + "5b" * 30 + " ...)"),
    ],
)
def test_refuses(body, media, told):
    with pytest.raises(ApiError) as caught:
        read(body, media)
    assert caught.value.message == f"the object provided is unrecognized (must be of type Pod): {told}"


def test_protobuf():
    body = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x02\x08\x05"
    assert parse(body, PROTOBUF, find_duplicates=True).tree["gracePeriodSeconds"] == 5


def test_without_a_kind_anything_goes_that_can_be_read():
    # A patch, for instance.
    assert read('[{"op":"remove","path":"/a"}]', wanted="").tree == [{"op": "remove", "path": "/a"}]
    with pytest.raises(ApiError) as caught:
        read("[1,", wanted="")
    assert caught.value.message == "couldn't get version/kind; json parse error: unexpected end of JSON input"


def test_protobuf_that_cannot_be_read():
    envelope = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod"
    for body, told in [
        (
            b"xx",
            "the object provided is unrecognized (must be of type Pod): provided data does not appear to be a protobuf "
            "message, expected prefix [107 56 115 0] (7878)",
        ),
        (b"k8s\0\x0a\x05a", "the object provided is unrecognized (must be of type Pod): unexpected EOF (6b3873000a0561)"),
        (envelope + b"\x12\x01\x12", 'Pod in version "v1" cannot be handled as a Pod: unexpected EOF'),
    ]:
        with pytest.raises(ApiError) as caught:
            parse(body, PROTOBUF, find_duplicates=True, wanted="Pod")
        assert caught.value.message == told


def test_large_numbers():
    assert read('{"a":18446744073709551616}').tree == {"a": 18446744073709551616.0}
    assert read('{"a":9223372036854775807}').tree == {"a": 2**63 - 1}


def test_text_that_is_not_unicode():
    assert parse(b'{"a":"\xff"}', JSON, find_duplicates=True).tree == {"a": "\ufffd"}
    assert parse(b'{"a":"\\ud800"}', JSON, find_duplicates=True).tree["a"] in ("\ufffd", "?")


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), trees, max_size=3), st.sampled_from([None, 2]))
def test_json_reads_back(tree, indent):
    parsed = parse(json.dumps(tree, indent=indent).encode(errors="surrogatepass"), JSON, find_duplicates=True)
    assert parsed == Parsed(tree)


@given(st.binary(max_size=60), st.sampled_from([JSON, YAML, PROTOBUF, ""]))
def test_noise_is_the_callers_fault(noise, media):
    try:
        parse(noise, media, find_duplicates=True)
    except ApiError as error:
        assert error.code == 400  # noqa: PT017
