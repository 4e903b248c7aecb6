"""The files of volumes made from API objects (v1.36.4 pkg/volume/{configmap,secret,downwardapi,projected})."""

import pytest

from tiphys.kubelet.pods.downward import FieldValues
from tiphys.kubelet.volumes.payload import Fetched, File, NotReady, TokenWish, files, needs

MAP = {"kind": "ConfigMap", "data": {"a": "1", "b": "2"}, "binaryData": {"c": "AAE="}}
SECRET = {"kind": "Secret", "data": {"s": "c2VjcmV0"}}


def pod(**spec):
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u", "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c"}], **spec},
    }


def made(volume, given=None, tokens=None):
    fetched = Fetched({"cm": MAP}, {"sec": SECRET}, tokens or {})
    return files(given or pod(), volume, fetched, FieldValues())


def test_all_keys_of_a_config_map_text_and_binary():
    found = made({"name": "v", "configMap": {"name": "cm", "defaultMode": 0o400}})
    assert found == {"a": File(b"1", 0o400), "b": File(b"2", 0o400), "c": File(b"\x00\x01", 0o400)}


def test_chosen_keys_with_paths_and_modes():
    items = [{"key": "s", "path": "deep/file", "mode": 0o440}]
    assert made({"name": "v", "secret": {"secretName": "sec", "items": items}}) == {"deep/file": File(b"secret", 0o440)}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
        ({"secret": {"secretName": "no"}}, 'secret "no" not found'),
        ({"configMap": {"name": "cm", "items": [{"key": "no", "path": "x"}]}}, "references non-existent config key: no"),
        ({"secret": {"secretName": "sec", "items": [{"key": "no", "path": "x"}]}}, "references non-existent secret key: no"),
    ],
)
def test_what_is_missing_makes_the_pod_wait_unless_it_is_optional(source, words):
    with pytest.raises(NotReady, match=words):
        made({"name": "v", **source})
    kind = next(iter(source))
    assert made({"name": "v", kind: {**source[kind], "optional": True}}) == {}


def test_a_projection_joins_its_sources():
    wish = TokenWish("", 3607)
    volume = {
        "name": "v",
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                {"configMap": {"name": "cm", "items": [{"key": "a", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            ],
        },
    }
    assert needs([volume]).tokens == {wish}
    found = made(volume, tokens={wish: "jwt"})
    assert found == {"token": File(b"jwt", 0o644), "ca.crt": File(b"1", 0o644), "namespace": File(b"d", 0o644)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, File(b"t", 0o644)),
        ({"securityContext": {"fsGroup": 7}}, File(b"t", 0o600)),
        ({"securityContext": {"runAsUser": 5}}, File(b"t", 0o600, 5)),
        (
            {"containers": [{"name": "a", "securityContext": {"runAsUser": 1}}, {"name": "b"}]},
            File(b"t", 0o644),
        ),
    ],
)
def test_who_may_read_a_token(spec, expected):
    # https://kubernetes.io/docs/concepts/storage/projected-volumes/#service-account-token-path-permissions
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    assert made(volume, pod(**spec), {TokenWish("", 3600): "t"}) == {"token": expected}
