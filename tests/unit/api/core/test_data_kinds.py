"""ConfigMaps, Secrets, ServiceAccounts."""

from base64 import b64encode

import pytest

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.sized_data import decoded_size

LIMIT = 1024 * 1024


def told(problems):
    return [str(problem) for problem in problems]


@pytest.mark.parametrize("size", range(7))
def test_size_of_what_is_encoded(size):
    # RFC 4648, section 4.
    assert decoded_size(b64encode(b"x" * size).decode()) == size


def encoded(size):
    return b64encode(b"x" * size).decode()


# v1.36.4 pkg/apis/core/validation/validation.go:7838 (secrets), :7925 (config maps): the sum of the values counts.
@pytest.mark.parametrize(
    ("kind", "obj", "problems"),
    [
        (CONFIG_MAPS, {"data": {"a": "x" * LIMIT}}, []),
        (CONFIG_MAPS, {"data": {"a": "x" * LIMIT}, "binaryData": {"b": encoded(1)}}, ["[]"]),
        (CONFIG_MAPS, {"data": {"a": "é" * (LIMIT // 2) + "x"}}, ["[]"]),
        (SECRETS, {"data": {"a": encoded(LIMIT)}}, []),
        (SECRETS, {"data": {"a": encoded(LIMIT - 1), "b": encoded(2)}}, ["data"]),
    ],
)
def test_size_limit(kind, obj, problems):
    assert told(kind.validate(obj)) == [f"{at}: Too long: may not be more than {LIMIT} bytes" for at in problems]


def test_string_data_goes_over_data_and_is_not_kept():
    # v1.36.4 pkg/apis/core/v1/conversion.go:411
    secret = {"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"b": "z", "c": "é"}}
    SECRETS.default(secret)
    assert secret == {"data": {"a": "eA==", "b": "eg==", "c": "w6k="}, "type": "Opaque"}


def test_the_type_of_a_secret_stays():
    # v1.36.4 pkg/registry/core/secret/strategy.go:90; pkg/apis/core/validation/validation.go:7907
    old, new = {"type": "x"}, {"type": ""}
    SECRETS.prepare_update(new, old)
    assert new["type"] == "x"
    assert told(SECRETS.validate_update({"type": "y"}, old)) == ['type: Invalid value: "y": field is immutable']


def test_immutable_data_stays():
    # v1.36.4 pkg/apis/core/validation/validation.go:7965; an absent map is an empty one
    old = {"immutable": True, "data": {"a": "b"}}
    assert told(CONFIG_MAPS.validate_update(dict(old, binaryData={}), old)) == []
    assert told(CONFIG_MAPS.validate_update({"data": {"a": "c"}}, old)) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]
    assert told(CONFIG_MAPS.validate_update({"data": {"a": "c"}}, {"data": {"a": "b"}})) == []


def test_references_to_secrets_keep_the_name_only():
    # v1.36.4 pkg/registry/core/serviceaccount/strategy.go:83
    account = {"secrets": [{"name": "a", "namespace": "b", "kind": "Secret"}]}
    SERVICE_ACCOUNTS.prepare_create(account)
    assert account == {"secrets": [{"name": "a"}]}


def test_the_deprecated_annotation_is_told_of_once():
    # v1.36.4 pkg/registry/core/serviceaccount/strategy.go:104
    obj = {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}
    assert len(list(SERVICE_ACCOUNTS.warnings(obj, None))) == 1
    assert list(SERVICE_ACCOUNTS.warnings(obj, obj)) == []


def test_deep_json_in_a_secret_is_harmless():
    # An attacker's document must not cost us the stack.
    secret = {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": b64encode(b"[" * 200_000 + b"]" * 200_000).decode()}}
    assert len(told(SECRETS.validate(secret))) == 1
