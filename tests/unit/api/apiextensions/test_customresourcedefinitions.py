"""CustomResourceDefinitions after their creation."""

import pytest

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS as KIND
from tiphys.api.apiextensions.field_paths import find

APPROVED = "api-approved.kubernetes.io"


def version(name, *, storage=False, schema=None):
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema or {"type": "object"}}}


def definition(*versions, group="ex.com", scope="Namespaced", kind="Widget", status=None, annotations=None):
    names = {"plural": "widgets", "singular": "widget", "kind": kind, "listKind": kind + "List"}
    return {
        "metadata": {"name": f"widgets.{group}", "annotations": annotations or {}},
        "spec": {"group": group, "scope": scope, "names": names, "versions": list(versions) or [version("v1", storage=True)]},
        "status": status or {"storedVersions": ["v1"]},
    }


ESTABLISHED = {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}


def told(problems):
    return [str(problem) for problem in problems]


# v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go:101
def test_a_new_storage_version_joins_those_before():
    old = definition(status={"storedVersions": ["v1"]})
    new = definition(version("v1"), version("v2", storage=True), status={"storedVersions": ["mine"]})
    KIND.prepare_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]
    assert list(KIND.validate(new)) == []


def test_a_version_that_may_hold_objects_stays():
    new = definition(version("v2", storage=True), status={"storedVersions": ["v1", "v2"]})
    [problem] = KIND.validate(new)
    assert str(problem).startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously'
    )


# v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go:660
@pytest.mark.parametrize(
    ("new", "old", "problems"),
    [
        (definition(scope="Cluster"), definition(), []),
        (
            definition(scope="Cluster", kind="Gadget"),
            definition(status=ESTABLISHED),
            [
                'spec.scope: Invalid value: "Cluster": field is immutable',
                'spec.names.kind: Invalid value: "Gadget": field is immutable',
            ],
        ),
        (definition(group="other.com"), definition(), ['spec.group: Invalid value: "other.com": field is immutable']),
    ],
)
def test_what_does_not_change(new, old, problems):
    assert told(KIND.validate_update(new, old)) == problems


# v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go:1857
@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", ""),
        ("unapproved, experimental-only", ""),
        ("because", "Invalid value"),
        ("", "Required value"),
    ],
)
def test_groups_of_the_community_need_approval(annotation, problem):
    found = told(KIND.validate_create(definition(group="foo.k8s.io", annotations={APPROVED: annotation})))
    assert [each.split(": ")[1] for each in found] == ([problem] if problem else [])


def test_an_approval_that_was_missing_may_go_on_missing():
    old = definition(group="foo.k8s.io", status=ESTABLISHED)
    assert told(KIND.validate_update(old, old)) == []
    assert told(KIND.validate(old)) == []
    approved = definition(group="foo.k8s.io", status=ESTABLISHED, annotations={APPROVED: "unapproved"})
    assert len(told(KIND.validate_update(old, approved))) == 1


# v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go:127
def test_unknown_formats_are_warned_of_once():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "foo"}, "b": {"type": "string", "format": "uuid"}},
    }
    new = definition(version("v1", storage=True, schema=schema))
    assert list(KIND.warnings(new, None)) == ['unrecognized format "foo"']
    assert list(KIND.warnings(new, new)) == []


SCHEMA = {
    "properties": {"spec": {"properties": {"a.b": {"type": "string"}}}, "labels": {"additionalProperties": {"type": "string"}}}
}


# v1.36.4 staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go:557
@pytest.mark.parametrize(
    ("path", "names"),
    [(".spec['a.b']", ("spec", "a.b")), (".labels.x", ("labels", "x")), (".labels['it\\'s']", ("labels", "it's"))],
)
def test_paths_that_lead_somewhere(path, names):
    assert find(path, SCHEMA) == (names, {"type": "string"})


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".nope", "does not refer to a valid field"),
        (".spec[a]", "expected single quoted string but got a"),
        (".spec['a.b'", "unexpected end of JSON path"),
        (".spec['a.b'.c", "expected ] but got ."),
    ],
)
def test_paths_that_do_not(path, problem):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        find(path, SCHEMA)
    assert str(caught.value) == problem


def test_selectable_fields_have_no_brackets():
    with pytest.raises(ValueError, match="array notation is not allowed"):
        find(".spec['a.b']", SCHEMA, brackets=False)
