import pytest

from tiphys.api.core.nodes import NODES


def node(labels=None, spec=None, **status):
    obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels or {}},
        "spec": spec or {},
        "status": status,
    }
    NODES.default(obj)
    return obj


# v1.36.4 pkg/apis/core/v1/conversion.go (Convert_v1_NodeSpec_To_core_NodeSpec): the old field counts.
@pytest.mark.parametrize(
    ("given", "single", "several"),
    [
        ({"podCIDR": "10.0.0.0/24"}, "10.0.0.0/24", ["10.0.0.0/24"]),
        ({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, "10.0.0.0/24", ["10.0.0.0/24", "fd00::/64"]),
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, "10.0.0.0/24", ["10.0.0.0/24", "fd00::/64"]),
        ({"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, "10.0.1.0/24", ["10.0.1.0/24"]),
        ({}, None, None),
    ],
)
def test_pod_cidrs_agree(given, single, several):
    spec = node(spec=given)["spec"]
    assert (spec.get("podCIDR"), spec.get("podCIDRs")) == (single, several)


def test_allocatable_is_the_capacity_unless_it_is_said():
    # v1.36.4 pkg/apis/core/v1/defaults.go (SetDefaults_NodeStatus, SetDefaults_ResourceList)
    obj = node(capacity={"cpu": "4", "memory": "1.0001"})
    assert obj["status"]["allocatable"] == {"cpu": "4", "memory": "1001m"}
    assert node(capacity={"cpu": "4"}, allocatable={"cpu": "3"})["status"]["allocatable"] == {"cpu": "3"}


READY, UNREADY = {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "Unknown"}


# v1.36.4 pkg/printers/internalversion/printers.go:1978
@pytest.mark.parametrize(
    ("conditions", "spec", "told"),
    [
        ([], {}, "Unknown"),
        ([READY], {}, "Ready"),
        ([UNREADY], {}, "NotReady"),
        ([{"type": "MemoryPressure", "status": "True"}, READY], {"unschedulable": True}, "Ready,SchedulingDisabled"),
        ([], {"unschedulable": True}, "Unknown,SchedulingDisabled"),
    ],
)
def test_status(conditions, spec, told):
    column = next(column for column in NODES.columns if column.name == "Status")
    assert column.value(node(spec=spec, conditions=conditions), 0) == told


def test_roles():
    # v1.36.4 pkg/printers/internalversion/printers.go:2059
    column = next(column for column in NODES.columns if column.name == "Roles")
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}
    assert column.value(node(labels), 0) == "control-plane,edge,worker"
    assert column.value(node({"node-role.kubernetes.io/": "", "kubernetes.io/role": ""}), 0) == "<none>"


def test_unschedulable_is_selectable_as_text():
    # v1.36.4 pkg/registry/core/node/strategy.go (NodeToSelectableFields)
    read = NODES.field_of["spec.unschedulable"]
    assert (read(node()), read(node(spec={"unschedulable": True}))) == ("false", "true")


def test_removed_configuration_is_kept_only_where_it_is_in_use():
    # v1.36.4 pkg/registry/core/node/strategy.go (dropDisabledFields)
    source = {"configMap": {"name": "a"}}
    new = node(spec={"configSource": source})
    NODES.prepare_create(new)
    assert "configSource" not in new["spec"]
    kept = node(spec={"configSource": source})
    NODES.prepare_update(kept, node(spec={"configSource": source}))
    assert kept["spec"]["configSource"] == source
