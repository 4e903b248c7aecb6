"""Objects good and bad, beside the answers of kube-apiserver v1.36.4 to creating them (`access_and_extension.jsonl`).

What upstream fills in must equal what we fill in, and what it complains of must be told in the same words and order.
"""

from pathlib import Path

import orjson
import pytest

from tiphys.api import (
    admissionregistration,
    apiextensions,
    apiregistration,
    authorization,
    certificates,
    flowcontrol,
    rbac,
)
from tiphys.machinery import errors, fields

GROUPS = (rbac, certificates, admissionregistration, apiregistration, flowcontrol, authorization, apiextensions)
KINDS = {kind.kind: kind for group in GROUPS for kind in group.KINDS}
RECORDED = [orjson.loads(line) for line in Path(__file__).with_name("access_and_extension.jsonl").read_bytes().splitlines()]
GOOD = [each for each in RECORDED if "answer" in each]
BAD = [each for each in RECORDED if "message" in each]


def created(given):
    """What the REST layer does with an object that is posted."""
    kind = KINDS[given["kind"]]
    if kind.namespaced:
        given["metadata"].setdefault("namespace", "default")
    kind.default(given)
    if kind.strategy.status:
        given.pop("status", None)
    kind.prepare_create(given)
    return kind, given


def ids(cases):
    return [f"{case['object']['kind']}-{position}" for position, case in enumerate(cases)]


def without_empty(value):
    """Without what only Go's structs put there: nulls, empty strings and empty objects of the server's own."""
    if isinstance(value, dict):
        shorn = {key: without_empty(each) for key, each in value.items()}
        return {key: each for key, each in shorn.items() if each not in (None, "")}
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    return value


@pytest.mark.parametrize("case", GOOD, ids=ids(GOOD))
def test_a_good_object_is_filled_in_as_upstream_does(case):
    kind, ours = created(orjson.loads(orjson.dumps(case["object"])))
    assert list(kind.validate(ours)) == []
    theirs = case["answer"]
    # Who asks and since when is known to the server alone; a missing status is an empty one.
    for field in ("username", "groups", "uid", "extra"):
        theirs.get("spec", {}).pop(field, None) if theirs["kind"] == "CertificateSigningRequest" else None
    for condition in theirs.get("status", {}).get("conditions") or ():
        condition.pop("lastTransitionTime", None)
    for each in (ours, theirs):
        if not without_empty(each.get("status")):
            each.pop("status", None)
    assert without_empty(ours) == without_empty(theirs)


@pytest.mark.parametrize("case", BAD, ids=ids(BAD))
def test_a_bad_object_is_refused_in_upstreams_words(case):
    kind, ours = created(orjson.loads(orjson.dumps(case["object"])))
    name = ours["metadata"].get("name", "")
    # Upstream names neither kind nor object when it complains of a review.
    named = [fields.invalid("metadata.name", name, told) for told in kind.name(name)] if kind.name else []
    problems = [*named, *kind.validate(ours), *kind.validate_create(ours)]
    error = errors.invalid(kind.group, "" if kind.ephemeral else kind.kind, name, problems)
    assert str(error) == case["message"]
    assert error.details is not None
    assert list(error.details.causes) == case["causes"]
