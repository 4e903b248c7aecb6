"""/flagz and /statusz answer as those of a live v1.36.4 kube-apiserver did to the same headers (KEP-4827, KEP-4828)."""

import orjson
import pytest
import yaml

from tiphys.base.http.messages import Request
from tiphys.machinery import feature_gates
from tiphys.machinery.zpages import SEPARATORS, ZPages, runtime_version

STARTED = 1_000_000_000.0
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)
KIND = "v=v1beta1;g=config.k8s.io;as"


def pages(gates="", choose=lambda separators: separators[1]):
    known = feature_gates.read(feature_gates.parse(gates))
    flags = {"v": "2", "bind-address": "127.0.0.1"}
    return ZPages("kube-scheduler", known, flags, STARTED, lambda: STARTED + 3723.5, choose)


def ask(path, accept=None, query="", made=None):
    headers = {} if accept is None else {"accept": accept}
    return (made or pages()).answer(Request("GET", path, query, headers), ("/apis/apps/v1", "/healthz/ping", "/healthz", "/"))


@pytest.mark.parametrize(
    "accept", [None, "", "*/*", "text/plain", "text/*", "application/json, text/plain", "text/plain;q=0.5"]
)
def test_text(accept):
    answer = ask("/flagz", accept)
    assert (answer.status, answer.content_type) == (200, "text/plain; charset=utf-8")
    assert answer.body.decode() == f"\nkube-scheduler flagz\n{WARNING}\nbind-address: 127.0.0.1\nv: 2\n"


def test_the_text_of_the_status():
    lines = ask("/statusz").body.decode().split("\n")
    assert lines[:4] == ["", "kube-scheduler statusz", WARNING, ""]
    assert lines[4:] == [
        "Started:  Sun Sep  9 01:46:40 UTC 2001",
        "Up:  1 hr 02 min 03 sec",
        f"Go version:  {runtime_version()}",
        "Binary version:  1.36.4",
        "Emulation version:  1.36",
        "Paths:  /flagz /healthz /statusz",
        "",
    ]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_what_stands_between_changes(separator):
    answer = ask("/flagz", made=pages(choose=lambda _: separator))
    assert f"\nv{separator}2\n".encode() in answer.body


@pytest.mark.parametrize("media", ["application/json", "application/yaml"])
def test_for_programs(media):
    flagz = ask("/flagz", f"{media};{KIND}=Flagz, text/plain")
    assert flagz.content_type == f"{media};g=config.k8s.io;v=v1beta1;as=Flagz"
    read = yaml.safe_load if media.endswith("yaml") else orjson.loads
    assert read(flagz.body) == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kube-scheduler"},
        "flags": {"bind-address": "127.0.0.1", "v": "2"},
    }
    assert read(ask("/statusz", f"{media};{KIND}=Statusz").body) == {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kube-scheduler"},
        "startTime": "2001-09-09T01:46:40Z",
        "uptimeSeconds": 3723,
        "goVersion": runtime_version(),
        "binaryVersion": "1.36.4",
        "emulationVersion": "1.36",
        "paths": ["/flagz", "/healthz", "/statusz"],
    }


def test_the_old_version_is_warned_of():
    answer = ask("/flagz", f"application/json;{KIND}=Flagz".replace("v1beta1", "v1alpha1"))
    told = '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."'
    assert (answer.status, list(answer.headers)) == (200, [("Warning", told)])


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/json",
        "application/yaml",
        "application/*",
        "application/json;v=v1;g=config.k8s.io;as=Flagz",
        f"application/json;{KIND}=Statusz",
        "application/json;as=Flagz",
        f"text/plain;{KIND}=Flagz",
        "garbage",
    ],
)
def test_what_is_not_offered(accept):
    answer = ask("/flagz", accept)
    told = "only the following media types are accepted: application/json, application/yaml, text/plain"
    body = yaml.safe_load(answer.body)
    assert (answer.status, body["reason"], body["message"]) == (406, "NotAcceptable", told)
    assert answer.content_type == ("application/yaml" if accept == "application/yaml" else "application/json")


@pytest.mark.parametrize("path", ["/flagz/", "/flagz/x", "/metrics"])
def test_other_paths_are_others(path):
    assert ask(path) is None


def test_what_is_off_is_not_there():
    made = pages("ComponentFlagz=false")
    assert ask("/flagz", made=made) is None
    assert b" /flagz" not in ask("/statusz", made=made).body
    assert pages("AllBeta=false").paths == ()
