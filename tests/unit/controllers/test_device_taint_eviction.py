"""Pods go from tainted devices. v1.36.4 pkg/controller/devicetainteviction/device_taint_eviction_test.go."""

import pytest

from tiphys.api.core.pods import PODS
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.client.cache import Cache
from tiphys.controllers.controller import Caches, named
from tiphys.controllers.device_taint_eviction import DeviceTaintEviction, end_of
from tiphys.controllers.plan import Delete, Emit, Patch
from tiphys.machinery import times

NOW = 1_700_000_000.0
TAINT = {"key": "broken", "value": "fan", "effect": "NoExecute", "timeAdded": times.rfc3339(NOW)}


def tolerates(**more):
    return {"key": "broken", "operator": "Exists", "effect": "NoExecute", **more}


def pod(name="p", **more):
    spec = {"nodeName": "n", "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}], **more}
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec, "status": {"phase": "Running"}}


def claim(*tolerations, used_by="p"):
    device = {"driver": "d", "pool": "pool", "device": "gpu-0", "tolerations": list(tolerations)}
    status = {"allocation": {"devices": {"results": [device]}}, "reservedFor": [{"resource": "pods", "uid": used_by}]}
    return {"metadata": {"name": "c", "namespace": "default"}, "status": status}


def slice_(*taints, name="s", generation=1, device="gpu-0"):
    spec = {"driver": "d", "pool": {"name": "pool", "generation": generation}}
    return {"metadata": {"name": name}, "spec": {**spec, "devices": [{"name": device, "taints": list(taints)}]}}


def caches(pod, claim, *slices):
    found = Caches({named(kind): Cache(kind) for kind in (PODS, RESOURCECLAIMS, RESOURCESLICES)})
    for watch in DeviceTaintEviction.watches:
        for name, function in watch.indexes.items():
            found[watch.kind].index(name, function)
    found[PODS].put(pod)
    found[RESOURCECLAIMS].put(claim)
    for each in slices:
        found[RESOURCESLICES].put(each)
    return found


def turn(controller, found, now=NOW):
    world = controller.observe("default/p", found, now)
    return None if world is None else controller.reconcile(world)


def test_a_pod_goes_at_once_where_nothing_is_tolerated():
    plan = turn(DeviceTaintEviction(), caches(pod(), claim(), slice_(TAINT)))
    note, patch, delete = plan.writes
    assert isinstance(note, Emit)
    assert (note.note.reason, note.note.message) == ("DeviceTaintManagerEviction", "Marking for deletion")
    assert isinstance(patch, Patch)
    assert patch.patch["status"]["conditions"][0]["reason"] == "DeletionByDeviceTaintManager"
    assert isinstance(delete, Delete)


def test_patience_ends_or_the_taint_goes_before():
    controller = DeviceTaintEviction()
    found = caches(pod(), claim(tolerates(tolerationSeconds=60)), slice_(TAINT))
    assert turn(controller, found, NOW + 10).again_in == 50
    assert len(turn(controller, found, NOW + 60).writes) == 3
    found[RESOURCESLICES].put(slice_())
    (note,) = turn(controller, found, NOW + 20).writes
    assert note.note.message == "Cancelling deletion"
    assert turn(controller, found, NOW + 21).writes == ()


@pytest.mark.parametrize(
    ("pod", "claim", "slices"),
    [
        (pod(nodeName=""), claim(), [slice_(TAINT)]),
        (pod(), claim(used_by="other"), [slice_(TAINT)]),
        (pod(), claim(tolerates()), [slice_(TAINT)]),
        (pod(), claim(), [slice_({**TAINT, "effect": "NoSchedule"})]),
        (pod(), claim(), [slice_(TAINT, device="gpu-1")]),
        (pod(), claim(), [slice_(TAINT), slice_(name="newer", generation=2)]),
        (pod(), claim(), []),
    ],
)
def test_it_stays_otherwise(pod, claim, slices):
    plan = turn(DeviceTaintEviction(), caches(pod, claim, *slices))
    assert plan is None or plan.writes == ()


def test_the_shortest_patience_counts():
    assert end_of(TAINT, [tolerates(tolerationSeconds=30), tolerates(tolerationSeconds=10)]) == NOW + 10
    assert end_of(TAINT, [tolerates(tolerationSeconds=-5)]) == NOW
    assert end_of(TAINT, [tolerates(tolerationSeconds=30), tolerates()]) is None
    assert end_of(TAINT, [{**tolerates(), "effect": ""}]) == NOW, "who tolerates evictions must say so"


def test_changes_of_claims_and_slices_concern_their_pods():
    found = caches(pod(), claim(), slice_())
    keys = {watch.kind.plural: watch.keys for watch in DeviceTaintEviction.watches}
    assert list(keys["resourceslices"](slice_(), slice_(TAINT), found)) == ["default/p"]
    assert list(keys["resourceclaims"](None, claim(), found)) == ["default/p"]
    assert list(keys["pods"](None, pod(), found)) == ["default/p"]
    plain = pod("q")
    del plain["spec"]["resourceClaims"]
    assert list(keys["pods"](None, plain, found)) == []
