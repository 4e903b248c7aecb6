"""What kube-apiserver v1.36.4 answers to the same objects: defaults, problems, warnings.

`recorded.jsonl` has one write a line, as it was sent with dryRun=All: `new`, or `old` and the merge patch `change` to it; then
either the causes of the refusal, or the merge patch that makes the object answered out of the one sent.
"""

import json
from pathlib import Path

import pytest

from tiphys.api import core, discovery, events, networking
from tiphys.api.core import services
from tiphys.apiserver.definitions import definitions
from tiphys.machinery.decode.conforming import conform
from tiphys.machinery.patch import merge
from tiphys.machinery.schema import Schemas

KINDS = {(kind.api_version, kind.kind): kind for group in (core, networking, discovery, events) for kind in group.KINDS}
CASES = [json.loads(line) for line in Path(__file__).with_name("recorded.jsonl").read_text().splitlines()]
SCHEMAS = Schemas(definitions())
UNCOMPARED = ("resourceVersion", "generation", "finalizers")


class Refused(Exception):
    """With the problems."""


def decoded(kind, sent):
    obj = conform(sent, SCHEMAS.node(kind.schema), None)
    obj.setdefault("metadata", {})
    kind.default(obj)
    return obj


def allocate(service, old):
    """As an API server of one family would, with addresses and ports that are not compared."""
    if problems := services.default_families(service, old, ("IPv4",)):
        raise Refused(problems)
    spec = service["spec"]
    if services.needs_cluster_ip(service) and spec.get("clusterIP") != "None" and not spec.get("clusterIPs"):
        spec.update(clusterIP="10.0.0.0", clusterIPs=["10.0.0.0"])
    for position, port in enumerate(spec.get("ports") or ()):
        if services.needs_node_port(service) and not port.get("nodePort"):
            port["nodePort"] = 30000 + position
    if services.needs_health_check_port(service) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = 32000


def create(kind, sent):
    obj = decoded(kind, sent)
    if kind.namespaced:
        obj["metadata"].setdefault("namespace", "default")
    if kind.strategy.status and not kind.strategy.status_on_create:
        obj.pop("status", None)
    kind.prepare_create(obj)
    if kind is services.SERVICES:
        allocate(obj, None)
    return obj, [*kind.validate(obj), *kind.validate_create(obj), *name_problems(kind, obj)], list(kind.warnings(obj, None))


def name_problems(kind, obj):
    """The rest of the metadata is checked elsewhere."""
    name = obj["metadata"]["name"]
    return [("FieldValueInvalid", "metadata.name", name, told) for told in (kind.name(name) if kind.name else ())]


def update(kind, old, sent, subresource):
    obj, old = decoded(kind, sent), decoded(kind, old)
    if part := kind.parts.get(subresource):
        part.prepare(obj, old)
        return obj, list(part.validate(obj, old)), []
    if subresource == "status":
        obj = {**{name: value for name, value in old.items() if name != "status"}, **only(obj, "metadata", "status")}
        kind.prepare_status(obj, old)
        return obj, list(kind.validate_status(obj, old)), []
    if kind.strategy.status:
        obj["status"] = old.get("status", {})
    kind.prepare_update(obj, old)
    if kind is services.SERVICES:
        allocate(obj, old)
    return obj, [*kind.validate(obj), *kind.validate_update(obj, old)], list(kind.warnings(obj, old))


def only(obj, *names):
    return {name: obj[name] for name in names if name in obj}


def comparable(obj):
    """Without what is allocated, counted, or added by admission; without nulls, which the recorded merge patches cannot say."""
    obj = {name: value for name, value in json.loads(json.dumps(obj)).items() if value is not None}
    for name in UNCOMPARED:
        obj["metadata"].pop(name, None)
    if isinstance(obj.get("status"), dict):
        obj["status"].pop("lastPhaseTransitionTime", None)
    if obj["kind"] == "Node":
        obj.get("spec", {}).pop("taints", None)
    if obj["kind"] == "Event":
        # A merge patch, as results are recorded, cannot say null.
        obj = {name: value for name, value in obj.items() if value is not None}
    if obj["kind"] == "Service":
        spec = obj["spec"]
        if spec.get("clusterIP", "").startswith("10."):
            del spec["clusterIP"], spec["clusterIPs"]
        spec.pop("healthCheckNodePort", None)
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    return obj


def cause(problem):
    if isinstance(problem, tuple):
        reason, field, value, told = problem
        return [reason, field, f'Invalid value: "{value}": {told}']
    return [problem.kind.reason, problem.field, problem.body()]


def title(case):
    sent = case.get("new") or case["old"]
    return sent["kind"] + json.dumps(case.get("change") or sent.get("spec") or "")[:60]


@pytest.mark.parametrize("case", CASES, ids=title)
def test_answers_as_upstream(case):
    # v1.36.4 kube-apiserver, asked with dryRun=All.
    sent = case["new"] if "new" in case else merge.apply(case["old"], case["change"])
    kind = KINDS[sent["apiVersion"], sent["kind"]]
    try:
        if "new" in case:
            obj, problems, warnings = create(kind, sent)
        else:
            obj, problems, warnings = update(kind, case["old"], sent, case.get("subresource", ""))
    except Refused as refused:
        obj, problems, warnings = {}, refused.args[0], []
    assert sorted(map(cause, problems)) == sorted(case.get("causes", ()))
    if "result" in case:
        assert comparable(obj) == merge.apply(comparable(sent), case["result"])
        assert warnings == case.get("warnings", [])
