"""PersistentVolumes and the claims on them."""

import pytest

from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS as CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES as VOLUMES

CREATED = "2026-01-02T03:04:05Z"
IS_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim(phase="Pending", **spec):
    obj = {
        "metadata": {"name": "a"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, **spec},
    }
    CLAIMS.default(obj)
    obj["status"] = {"phase": phase}
    return obj


def first_lines(problems):
    return [str(problem).partition("\n")[0] for problem in problems]


def test_a_new_volume_is_pending_from_its_creation():
    # v1.36.4 pkg/registry/core/persistentvolume/strategy.go:64
    obj = {"metadata": {"creationTimestamp": CREATED}, "spec": {}, "status": {"phase": "Bound", "reason": "x"}}
    VOLUMES.prepare_create(obj)
    assert obj["status"] == {"phase": "Pending", "lastPhaseTransitionTime": CREATED}


def test_the_time_of_a_phase_is_kept_with_the_phase():
    # v1.36.4 pkg/registry/core/persistentvolume/strategy.go:155
    old = {"status": {"phase": "Bound", "lastPhaseTransitionTime": CREATED}}
    same = {"status": {"phase": "Bound"}}
    VOLUMES.prepare_status(same, old)
    assert same["status"]["lastPhaseTransitionTime"] == CREATED


def test_a_new_phase_begins_when_it_is_written():
    # v1.36.4 pkg/registry/core/persistentvolume/strategy.go:155
    written = "2026-01-02T03:05:00Z"
    managers = [{"manager": "a", "time": CREATED}, {"manager": "b", "time": written}]
    old = {"status": {"phase": "Pending", "lastPhaseTransitionTime": CREATED}}
    for said, kept in (({}, written), ({"lastPhaseTransitionTime": CREATED}, written), ({"lastPhaseTransitionTime": "x"}, "x")):
        new = {"metadata": {"managedFields": managers}, "status": {"phase": "Bound", **said}}
        VOLUMES.prepare_status(new, old)
        assert new["status"]["lastPhaseTransitionTime"] == kept


CLAIM = {"kind": "PersistentVolumeClaim", "name": "x"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"}
OTHER = {"apiGroup": "a.b", "kind": "Book", "name": "x"}


# v1.36.4 pkg/api/persistentvolumeclaim/util.go:44, :90, :180
@pytest.mark.parametrize(
    ("given", "source", "reference"),
    [
        ({"dataSource": CLAIM}, CLAIM, CLAIM),
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSource": OTHER}, None, None),
        ({"dataSourceRef": OTHER}, OTHER, OTHER),
        ({"dataSource": CLAIM, "dataSourceRef": OTHER}, CLAIM, OTHER),
        ({"dataSourceRef": OTHER | {"namespace": "n"}}, None, None),
    ],
)
def test_both_names_of_the_source_agree(given, source, reference):
    obj = claim(**given)
    CLAIMS.prepare_create(obj)
    assert (obj["spec"].get("dataSource"), obj["spec"].get("dataSourceRef")) == (source, reference)


# v1.36.4 pkg/apis/core/validation/validation.go:2532
@pytest.mark.parametrize(
    ("phase", "change", "problems"),
    [
        ("Pending", {}, []),
        ("Pending", {"volumeName": "v"}, []),
        ("Bound", {"resources": {"requests": {"storage": "3Gi"}}}, []),
        ("Pending", {"resources": {"requests": {"storage": "3Gi"}}}, [f"spec: Forbidden: {IS_FIXED}"]),
        ("Bound", {"volumeAttributesClassName": "x"}, []),
        ("Bound", {"accessModes": ["ReadOnlyMany"]}, [f"spec: Forbidden: {IS_FIXED}"]),
        ("Pending", {"storageClassName": "x"}, []),
        ("Bound", {"resources": {"requests": {"storage": "2048Mi"}}}, []),
    ],
)
def test_what_a_claim_may_change(phase, change, problems):
    old, new = claim(phase), claim(phase, **change)
    assert first_lines(CLAIMS.validate_update(new, old)) == problems


def test_a_claim_shrinks_no_further_than_what_it_has():
    # v1.36.4 pkg/apis/core/validation/validation.go:2586
    old, new = claim("Bound"), claim("Bound", resources={"requests": {"storage": "1Gi"}})
    new["status"]["capacity"] = {"storage": "512Mi"}
    assert first_lines(CLAIMS.validate_update(new, old)) == []
    new["status"]["capacity"] = {"storage": "1Gi"}
    assert first_lines(CLAIMS.validate_update(new, old)) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_the_class_may_move_from_the_annotation_to_the_field():
    # v1.36.4 pkg/apis/core/validation/validation.go:2632
    old, new = claim(), claim(storageClassName="x")
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "x"}
    assert first_lines(CLAIMS.validate_update(new, old)) == []
    other = claim(storageClassName="y")
    assert first_lines(CLAIMS.validate_update(other, old)) == [
        'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable',
        f"spec: Forbidden: {IS_FIXED}",
    ]


def affinity(key, value="v"):
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", True),
        ("beta.kubernetes.io/os", "kubernetes.io/os", True),
        ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", False),
        ("a", "b", False),
        ("a", "a", True),
    ],
)
def test_node_affinity_changes_to_labels_of_today_only(old, new, allowed):
    # v1.36.4 pkg/apis/core/validation/validation.go:9412, 9421
    before, after = ({"spec": {"hostPath": {"path": "/a"}, "nodeAffinity": affinity(key)}} for key in (old, new))
    told = [problem for problem in VOLUMES.validate_update(after, before) if problem.field == "nodeAffinity"]
    assert (not told) == allowed


def test_columns():
    # v1.36.4 pkg/printers/internalversion/printers.go:2087, :2137
    volume = {
        "metadata": {"deletionTimestamp": CREATED},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "claimRef": {"namespace": "a", "name": "b"},
        },
    }
    cells = {column.name: column.value(volume, 0) for column in VOLUMES.columns if callable(column.value)}
    assert cells == {
        "Capacity": "1Gi",
        "Access Modes": "RWO,RWX",
        "Status": "Terminating",
        "Claim": "a/b",
        "StorageClass": "",
        "VolumeAttributesClass": "<unset>",
        "Reason": "",
        "VolumeMode": "<unset>",
    }
    bound = claim("Bound", volumeName="v", storageClassName="fast")
    bound["status"].update(capacity={"storage": "2Gi"}, accessModes=["ReadWriteOncePod"])
    cells = {column.name: column.value(bound, 0) for column in CLAIMS.columns if callable(column.value)}
    assert (cells["Capacity"], cells["Access Modes"], cells["StorageClass"]) == ("2Gi", "RWOP", "fast")
    cells = {column.name: column.value(claim(), 0) for column in CLAIMS.columns if callable(column.value)}
    assert (cells["Capacity"], cells["Access Modes"], cells["Volume"]) == ("", "", "")
