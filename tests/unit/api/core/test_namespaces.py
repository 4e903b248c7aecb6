from tiphys.api.core.namespaces import NAMESPACES


def made(name="a", **fields):
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, **fields}
    NAMESPACES.default(obj)
    return obj


def told(problems):
    return [str(problem) for problem in problems]


def test_a_new_namespace_is_active_and_held():
    # v1.36.4 pkg/registry/core/namespace/strategy.go:63
    obj = made(spec={"finalizers": ["a/b"]}, status={"phase": "Terminating"})
    NAMESPACES.prepare_create(obj)
    assert obj["spec"]["finalizers"] == ["a/b", "kubernetes"]
    assert obj["status"] == {"phase": "Active"}
    NAMESPACES.prepare_create(obj)
    assert obj["spec"]["finalizers"] == ["a/b", "kubernetes"]


def test_the_name_is_a_label_that_cannot_be_taken_off():
    # v1.36.4 pkg/registry/core/namespace/strategy.go:107 (Canonicalize); a generated name comes after defaulting.
    obj = made(name="")
    assert "labels" not in obj["metadata"]
    obj["metadata"]["name"] = "a-x2x4z"
    NAMESPACES.prepare_create(obj)
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a-x2x4z"}
    new = made(name="a-x2x4z")
    new["metadata"]["labels"] = {"kubernetes.io/metadata.name": "b"}
    NAMESPACES.prepare_update(new, obj)
    assert new["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a-x2x4z"}


def test_finalizers_change_through_finalize_only():
    # v1.36.4 pkg/registry/core/namespace/strategy.go:92, :176
    old = made(spec={"finalizers": ["kubernetes"]})
    new = made(spec={"finalizers": []})
    NAMESPACES.prepare_update(new, old)
    assert new["spec"] == {"finalizers": ["kubernetes"]}
    finalized = made(spec={"finalizers": []}, status={"phase": "Terminating"})
    part = NAMESPACES.parts["finalize"]
    part.prepare(finalized, old)
    assert (finalized["spec"], finalized["status"]) == ({"finalizers": []}, {"phase": "Active"})
    wrong = "name is neither a standard finalizer name nor is it fully qualified"
    assert told(part.validate(made(spec={"finalizers": ["x", "a/b", "orphan"]}), old)) == [
        f'spec.finalizers[0]: Invalid value: "x": {wrong}'
    ]


def test_the_phase_follows_the_deletion():
    # v1.36.4 pkg/apis/core/validation/validation.go:8303
    old = made()
    active, leaving = made(status={"phase": "Active"}), made(status={"phase": "Terminating"})
    assert told(NAMESPACES.validate_status(active, old)) == []
    assert told(NAMESPACES.validate_status(leaving, old)) == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]
    for obj in (active, leaving):
        obj["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    assert told(NAMESPACES.validate_status(leaving, old)) == []
    assert told(NAMESPACES.validate_status(active, old)) == [
        "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"
    ]
