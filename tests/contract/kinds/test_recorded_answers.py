"""Objects that were sent to kube-apiserver v1.36.4 (`?dryRun=All`), and what it made of them or said of them.

Each line of `answers/*.jsonl` is one request. `do` is create, update or status; `set` changes the base object (`object`, which
holds for the lines after it) at dotted paths, null takes a field away. `stored` is the whole answer, `changes` its difference
from the base's answer (a path alone: the field is gone), `causes` those of a 422 as (field, reason, message).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tiphys.api import apps, autoscaling, batch, coordination, node, policy, resource, scheduling, storage
from tiphys.api.kind import Kind
from tiphys.apiserver.rest import writing
from tiphys.machinery import times, tree
from tiphys.machinery.errors import ApiError

ANSWERS = Path(__file__).parent / "answers"
NOW = times.parse("2026-01-02T03:04:05Z")
PACKAGES = {
    "apps": apps,
    "autoscaling": autoscaling,
    "batch": batch,
    "coordination": coordination,
    "node": node,
    "policy": policy,
    "resource": resource,
    "scheduling": scheduling,
    "storage": storage,
}


def recorded() -> Any:
    for package, module in PACKAGES.items():
        kinds = {(kind.plural, kind.version): kind for kind in module.KINDS}
        base: Any = None
        first: Any = None
        for number, text in enumerate((ANSWERS / f"{package}.jsonl").read_text().splitlines(), 1):
            line = json.loads(text)
            if "object" in line:
                base = line["object"]
                first = line.get("stored", base)
            kind = kinds[line["of"], line["version"]]
            yield pytest.param(kind, line, base, first, id=f"{package}:{number}-{line['do']}-{line['of']}")


def with_changes(obj: Any, changes: dict[str, Any]) -> Any:
    for dotted, value in changes.items():
        where = tuple(dotted.split("."))
        obj = tree.drop(obj, where) if value is None else tree.put(obj, where, tree.copy(value))
    return tree.copy(obj)


def with_differences(obj: Any, differences: list[list[Any]]) -> Any:
    for path, *value in differences:
        obj = tree.put(obj, tuple(path), value[0]) if value else tree.drop(obj, tuple(path))
    return obj


def create(kind: Kind, obj: Any, warnings: list[str]) -> Any:
    writing.fill_system_metadata(obj, NOW, "UID")
    kind.default(obj)
    if kind.conversion:
        obj = kind.conversion.to_stored(obj)
    writing.prepare_new(kind.stored, obj)
    writing.check_new(kind.stored, obj, warnings)
    return kind.conversion.from_stored(obj) if kind.conversion else obj


def change(kind: Kind, obj: Any, old: Any, subresource: str, warnings: list[str]) -> Any:
    versions = {"resourceVersion": "1"}
    obj["metadata"] |= versions
    kind.default(obj)
    old = old | {"metadata": old["metadata"] | versions}
    writing.prepare_changed(kind, obj, old, subresource)
    writing.check_changed(kind, obj, old, subresource, warnings)
    del obj["metadata"]["resourceVersion"]
    return obj


@pytest.mark.parametrize(("kind", "line", "base", "first"), list(recorded()))
def test_answers_as_upstream_did(kind, line, base, first):
    obj = with_changes(base, line.get("set", {}))
    warnings: list[str] = []
    try:
        if line["do"] == "create":
            stored = create(kind, obj, warnings)
        else:
            stored = change(kind, obj, tree.copy(base), "status" if line["do"] == "status" else "", warnings)
    except ApiError as refused:
        told = [[each["field"], each["reason"], each["message"]] for each in refused.to_status()["details"]["causes"]]
        # Upstream walks maps in no order, and looks at metadata first.
        assert sorted(told) == sorted(line.get("causes", ["accepted"]))
    else:
        assert "causes" not in line
        assert stored == line.get("stored", with_differences(first, line.get("changes", [])))
        assert sorted(warnings) == sorted(line.get("warnings", []))
