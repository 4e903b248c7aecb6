"""Pods and templates as upstream's API server v1.36.4 accepts, refuses, defaults, updates and prints them.

The inputs are ours; the outcomes were recorded from the real server (dryRun=All). What they pin down is
v1.36.4 pkg/apis/core/validation/validation.go, pkg/apis/core/v1/defaults.go, pkg/api/pod/warnings.go,
pkg/registry/core/pod/strategy.go and pkg/printers/internalversion/printers.go, word for word.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tiphys.api import pod_template
from tiphys.api.core.pods import PODS
from tiphys.api.core.pods.binding import bind, validate_binding
from tiphys.apiserver.definitions import definitions
from tiphys.machinery import decode, errors, meta, tree
from tiphys.machinery.errors import ApiError
from tiphys.machinery.schema import Schemas
from tiphys.machinery.tree import Obj

HERE = Path(__file__).parent / "pods_recorded"
SCHEMAS = Schemas(definitions())
# What upstream writes into every spec, left out of the recording.
STANDARD = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
# Go visits maps at random.
UNORDERED = frozenset(("node selector", "vol flex", "ann seccomp", "apparmor add"))


def recorded(name: str) -> list[Any]:
    cases: list[Any] = json.loads((HERE / f"{name}.json").read_text())
    return [pytest.param(case, id=re.sub(r"[^ -~]", "?", case["name"])) for case in cases]


def conform(obj: Obj, definition: str) -> Obj:
    return decode.conform(obj, SCHEMAS.node(f"io.k8s.api.core.v1.{definition}"), None)


def causes(problems: list[Any], case: str) -> list[Any]:
    told = [[each.kind.reason, each.field, each.body()] for each in problems]
    return sorted(told) if case in UNORDERED else told


def expected_causes(outcome: Obj, case: str) -> list[Any]:
    told: list[Any] = outcome["causes"]
    return sorted(told) if case in UNORDERED else told


def told_of(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in STANDARD or STANDARD[name] != value}


@pytest.mark.parametrize("case", recorded("created"))
def test_create(case: Obj) -> None:
    pod = conform({"apiVersion": "v1", "kind": "Pod", **case["pod"]}, "Pod")
    PODS.default(pod)
    metadata = pod["metadata"]
    metadata["namespace"] = "default"
    metadata["creationTimestamp"] = "2026-11-18T21:50:59Z"
    metadata.setdefault("name", metadata.get("generateName", ""))
    PODS.prepare_create(pod)
    problems = [*PODS.validate(pod), *PODS.validate_create(pod)]
    if case["name"] == "generate":
        metadata["name"] += "abcde"
    problems += meta.validate_meta(pod, True, PODS.name)
    outcome = case["created"]
    if "causes" in outcome:
        assert causes(problems, case["name"]) == expected_causes(outcome, case["name"])
        return
    assert not problems
    assert told_of(pod["spec"]) == outcome["spec"]
    assert pod["status"] == outcome["status"]
    assert metadata.get("annotations") == outcome.get("annotations")
    assert list(PODS.warnings(pod, None)) == outcome.get("warnings", [])


@pytest.mark.parametrize("case", recorded("created"))
def test_template(case: Obj) -> None:
    kept = {name: value for name, value in case["pod"]["metadata"].items() if name in ("labels", "annotations")}
    sent = {"metadata": kept, "spec": case["pod"]["spec"]}
    template = conform({"template": sent}, "PodTemplate")["template"]
    pod_template.default(template)
    pod_template.prepare(template)
    problems = list(pod_template.validate(template, "template"))
    outcome = case.get("template")
    if outcome is None:  # as for the pod
        outcome = {"causes": [[r, f"template.{f}" if f else f, m] for r, f, m in case["created"]["causes"]]}
    if "causes" in outcome:
        assert causes(problems, case["name"]) == expected_causes(outcome, case["name"])
        return
    assert not problems
    assert told_of(template["spec"]) == outcome["spec"]
    warnings = pod_template.warnings(template["spec"], template["metadata"], "template")
    assert list(warnings) == outcome.get("warnings", [])


def changed(old: Obj, changes: list[Any]) -> Obj:
    """A JSON patch in short."""
    new: Obj = tree.copy(old)
    for operation, path, value in changes:
        *parents, last = (step.replace("~1", "/") for step in path.split("/")[1:])
        holder: Any = new
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
        if isinstance(holder, list) and operation != "remove" and last == "-":
            holder.append(value)
        elif operation == "remove":
            del holder[int(last) if isinstance(holder, list) else last]
        else:
            holder[int(last) if isinstance(holder, list) else last] = value
    return new


def updated(old: Obj, new: Obj, subresource: str) -> Obj:
    """As the API server goes about it: prepare, then judge."""
    new = conform({"apiVersion": "v1", "kind": "Pod", **new}, "Pod")
    PODS.default(new)
    if subresource in PODS.parts:
        part = PODS.parts[subresource]
        part.prepare(new, old)
        problems = list(part.validate(new, old))
    elif subresource == "status":
        new["spec"] = old["spec"]
        PODS.prepare_status(new, old)
        problems = list(PODS.validate_status(new, old))
    else:
        new["status"] = old["status"]
        PODS.prepare_update(new, old)
        problems = [*PODS.validate(new), *PODS.validate_update(new, old)]
    if problems:
        raise errors.invalid("", "Pod", "p", problems)
    return new


def words(message: str, case: str) -> Any:
    return sorted(message) if case in UNORDERED else message


def bound(old: Obj, binding: Obj) -> Obj:
    problems = [str(each) for each in validate_binding(binding)]
    if problems:
        raise ApiError(500, "", f"[{', '.join(problems)}]")
    return bind(old, binding, 0.0)


def attempted(case: Obj) -> Obj:
    if "binding" in case:
        return bound(case["old"], case["binding"])
    return updated(case["old"], changed(case["old"], case["changes"]), case["subresource"])


@pytest.mark.parametrize("case", recorded("updated"))
def test_update(case: Obj) -> None:
    old = case["old"]
    before = json.dumps(old)
    if "message" in case:
        with pytest.raises(ApiError) as refused:
            attempted(case)
        assert words(refused.value.message, case["name"]) == words(case["message"], case["name"])
        assert refused.value.code == case["code"]
        assert json.dumps(old) == before
        return
    new = attempted(case)
    assert json.dumps(old) == before
    assert new["spec"] == case["result"].get("spec", old["spec"])
    if case["name"] not in ("bind", "st alloc"):  # times, and a null that decoding does not add yet
        assert new["status"] == case["result"].get("status", old["status"])
    for field in ("labels", "annotations"):
        assert new["metadata"].get(field) == case.get(field)


@pytest.mark.parametrize("case", recorded("printed"))
def test_print(case: Obj) -> None:
    cells = [column.value(case["pod"], 1.8e9) for column in PODS.columns if callable(column.value)]
    assert [re.sub(r" \(.* ago\)", " (ago)", str(cell)) for cell in cells] == case["cells"]
