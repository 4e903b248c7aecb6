import pytest

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS, TEMPLATE_GENERATION
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.machinery import tree


def workload(kind):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    obj = {"apiVersion": "apps/v1", "kind": kind.kind, "metadata": {"name": "w"}, "spec": spec}
    kind.default(obj)
    kind.prepare_create(obj)
    return obj


# v1.36.4 pkg/registry/apps/daemonset/strategy.go:83 (PrepareForUpdate)
def test_template_generation_counts_changes_of_the_template():
    old = workload(DAEMONSETS)
    assert old["metadata"]["annotations"][TEMPLATE_GENERATION] == "1"
    other, changed = tree.copy(old), tree.copy(old)
    other["spec"]["minReadySeconds"] = 3
    other["metadata"]["annotations"] = {TEMPLATE_GENERATION: "99"}
    changed["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    for new in (other, changed):
        DAEMONSETS.prepare_update(new, old)
    assert other["metadata"]["annotations"][TEMPLATE_GENERATION] == "1"
    assert changed["metadata"]["annotations"][TEMPLATE_GENERATION] == "2"


# v1.36.4 pkg/registry/apps/deployment/strategy.go:171 (PrepareForUpdate of status)
@pytest.mark.parametrize("labels", [None, {"a": "b"}])
def test_status_writes_keep_the_labels_of_a_deployment(labels):
    old, new = workload(DEPLOYMENTS), workload(DEPLOYMENTS)
    if labels:
        old["metadata"]["labels"] = labels
    new["metadata"]["labels"] = {"other": "label"}
    DEPLOYMENTS.prepare_status(new, old)
    assert new["metadata"].get("labels") == labels


# v1.36.4 pkg/apis/apps/validation/validation.go:196: the controller adds a volume for each claim template
def test_mounts_may_name_claim_templates():
    obj = workload(STATEFULSETS)
    container = obj["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    assert [problem.field for problem in STATEFULSETS.validate_create(obj)] == [
        "spec.template.spec.containers[0].volumeMounts[0].name"
    ]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    obj["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    assert list(STATEFULSETS.validate_create(obj)) == []


# v1.36.4 pkg/printers/internalversion/printers.go (printControllerRevision)
def test_controller_cell():
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "w", "controller": True}
    cell = CONTROLLERREVISIONS.columns[0].value
    assert cell({"metadata": {"ownerReferences": [owner]}}, 0) == "statefulset.apps/w"
    assert cell({"metadata": {"ownerReferences": [owner | {"controller": False}]}}, 0) == "<none>"
