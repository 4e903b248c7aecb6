import pytest

from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES

DEVICE = {"driver": "d.io", "pool": "p", "device": "a"}


def claim(status, **metadata):
    return {"metadata": {"name": "c"} | metadata, "spec": {"devices": {"requests": []}}, "status": status}


ALLOCATED = {"allocation": {"devices": {"results": [DEVICE | {"request": "r"}]}}}


# v1.36.4 pkg/printers/internalversion/printers.go:3213 (resourceClaimState)
@pytest.mark.parametrize(
    ("status", "deleted", "expected"),
    [
        ({}, False, "pending"),
        ({}, True, "deleted"),
        (ALLOCATED, False, "allocated"),
        (ALLOCATED | {"reservedFor": [{}]}, False, "allocated,reserved"),
        (ALLOCATED, True, "deleted,allocated"),
    ],
)
def test_state(status, deleted, expected):
    obj = claim(status, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}))
    assert RESOURCECLAIMS.columns[0].value(obj, 0) == expected


# v1.36.4 pkg/registry/resource/resourceclaim/strategy.go (dropDeallocatedStatusDevices)
def test_devices_given_back_are_forgotten():
    told = {"devices": [DEVICE, DEVICE | {"device": "b"}]}
    old, new = claim(ALLOCATED | told), claim(dict(told))
    RESOURCECLAIMS.prepare_status(new, old)
    assert new["status"]["devices"] == [DEVICE | {"device": "b"}]
    gone = claim({"devices": [DEVICE]})
    RESOURCECLAIMS.prepare_status(gone, old)
    assert "devices" not in gone["status"]


# v1.36.4 pkg/apis/resource/v1/defaults.go:52 takes the time of the request; a new object's is its creation
def test_taints_have_a_time():
    taint = {"key": "k", "effect": "NoSchedule"}
    spec = {"devices": [{"name": "d", "taints": [dict(taint)]}]}
    old = {"metadata": {"name": "s", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec}
    RESOURCESLICES.prepare_create(old)
    assert old["spec"]["devices"][0]["taints"][0]["timeAdded"] == "2026-01-01T00:00:00Z"
    new = {"metadata": old["metadata"], "spec": {"devices": [{"name": "d", "taints": [dict(taint)]}]}}
    RESOURCESLICES.prepare_update(new, old)
    assert new == old
