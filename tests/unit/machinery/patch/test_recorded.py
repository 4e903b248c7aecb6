"""Patches and applies that a real kube-apiserver v1.36.4 carried out, picked from random histories of four kinds.

Each line of recorded.jsonl is one request: the object before, what was sent, and the object after or the refusal. Names, uids
and times are made the same; `exact` tells that the server added nothing of its own (defaults), so that objects can be compared.
"""

import json
import pathlib

import pytest

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch import json as json_patch
from tiphys.machinery.patch import merge, strategic
from tiphys.machinery.patch.apply import Applier, apply
from tiphys.machinery.patch.managed import NO_RESET, Reset, track_update
from tiphys.machinery.tree import copy

RECORDED = [json.loads(line) for line in pathlib.Path(__file__).with_name("recorded.jsonl").read_text().splitlines()]

KINDS = {
    "ConfigMap": ("v1", "io.k8s.api.core.v1.ConfigMap", NO_RESET, NO_RESET),
    "Service": ("v1", "io.k8s.api.core.v1.Service", Reset({"f:status": {}}), NO_RESET),
    "Deployment": (
        "apps/v1",
        "io.k8s.api.apps.v1.Deployment",
        Reset({"f:status": {}}),
        Reset({"f:spec": {}, "f:metadata": {"f:labels": {}}}),
    ),
    "Pod": (
        "v1",
        "io.k8s.api.core.v1.Pod",
        Reset({"f:status": {}}),
        Reset({"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}}),
    ),
}
STATUS = ("sapply", "smerge", "sstrategic")


def told(entries):
    """Entries with their order of fields, and with or without a time."""
    return sorted(json.dumps({**each, "time": "time" in each}) for each in entries)


def rest(tree):
    meta = {name: value for name, value in tree["metadata"].items() if name != "managedFields"}
    return {**tree, "metadata": meta}


@pytest.mark.parametrize(
    "case", RECORDED, ids=[f"{number}-{each['what']}-{each['kind']}" for number, each in enumerate(RECORDED)]
)
def test_as_upstream_did(schemas, case):
    api_version, definition, main, status = KINDS[case["kind"]]
    node, before, body, after = schemas.node(definition), case["before"], case["body"], case["after"]
    subresource, reset = ("status", status) if case["what"] in STATUS else ("", main)
    kept = copy(before), copy(body)
    if case["what"].endswith("apply"):
        applier = Applier(case["manager"], api_version, case["kind"], node, subresource, case["force"], reset)
        if "message" in after:
            with pytest.raises(ApiError) as caught:
                apply(before, body, applier, 4e9)
            assert caught.value.message == after["message"]
            return
        patched, entries = apply(before, body, applier, 4e9)
    else:
        if case["exact"]:
            patched = {
                "json": lambda: json_patch.apply(before, body),
                "merge": lambda: merge.apply(before, body),
                "strategic": lambda: strategic.apply(before, body, node),
            }[case["what"]]()
        wish = {**after, "metadata": {**after["metadata"], "managedFields": before["metadata"].get("managedFields")}}
        entries = track_update(wish, before, case["manager"], api_version, node, 4e9, subresource=subresource, reset=reset)
    if case["exact"]:
        assert rest(patched) == rest(after)
    assert told(entries) == told(after["metadata"]["managedFields"])
    assert (before, body) == kept
