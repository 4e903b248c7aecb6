"""Who leaves a tainted node, and when. v1.36.4 pkg/controller/tainteviction/taint_eviction.go."""

import pytest

from tiphys.controllers.plan import Delete, Patch
from tiphys.controllers.taint_eviction import TaintEvictionController, World, seconds_left
from tiphys.controllers.taints import tolerates

NOW = 1_700_000_000.0
LOST = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
GPU = {"key": "gpu", "value": "a", "effect": "NoExecute"}
decide = TaintEvictionController.reconcile


def pod(*tolerations, **metadata):
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "u", **metadata},
        "spec": {"nodeName": "n", "tolerations": list(tolerations)},
        "status": {"phase": "Running"},
    }


def patient(seconds=None, taint=LOST):
    toleration = {"key": taint["key"], "operator": "Exists", "effect": "NoExecute"}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("tolerations", "taints", "wanted"),
    [
        ([], [LOST], 0),
        ([patient(300)], [LOST], 300),
        ([patient()], [LOST], None),
        ([patient(300)], [LOST, GPU], 0),
        ([patient(300), patient(60, GPU)], [LOST, GPU], 60),
        ([patient(), patient(60, GPU)], [LOST, GPU], 60),
        ([patient(-5)], [LOST], 0),
        ([patient(300), patient()], [LOST], 300),
        ([{"operator": "Exists"}], [LOST, GPU], None),
    ],
)
def test_patience(tolerations, taints, wanted):
    assert seconds_left(pod(*tolerations), taints) == wanted


@pytest.mark.parametrize(
    ("toleration", "wanted"),
    [
        ({"key": "gpu", "value": "a"}, True),
        ({"key": "gpu", "value": "b"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
    ],
)
def test_tolerations(toleration, wanted):
    assert tolerates(toleration, GPU) == wanted


def test_a_pod_waits_out_its_patience_and_then_goes():
    early = decide(World(pod(patient(300)), (LOST,), NOW, NOW + 100))
    assert early.writes == ()
    assert early.again_in == 200
    patch, delete = decide(World(pod(patient(300)), (LOST,), NOW, NOW + 300)).writes
    assert isinstance(patch, Patch)
    assert patch.patch["status"]["conditions"][0]["reason"] == "DeletionByTaintManager"
    assert isinstance(delete, Delete)


def test_a_pod_on_its_way_out_is_left_alone():
    going = pod(deletionTimestamp="2023-11-14T22:13:20Z")
    assert decide(World(going, (LOST,), NOW, NOW)).writes == ()
