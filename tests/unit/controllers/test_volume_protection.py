"""Claims of pods: made for them, and kept while they use them. v1.36.4 pkg/controller/volume/{ephemeral,pvcprotection,
pvprotection,vacprotection}."""

from typing import Any

import pytest

from tiphys.controllers.attributes_class_protection import AttributesClassProtectionController, named_by_claim
from tiphys.controllers.attributes_class_protection import World as ClassWorld
from tiphys.controllers.ephemeral_volume import EphemeralVolumeController, World
from tiphys.controllers.plan import Create, Emit, Inquire, Update
from tiphys.controllers.volume_protection import (
    ClaimProtectionController,
    ClaimWorld,
    VolumeProtectionController,
    VolumeWorld,
    uses,
)
from tiphys.machinery.tree import Obj

WHEN = "2027-01-15T08:00:00Z"


def pod(*volumes: Obj, node: str = "n", **metadata: Any) -> Obj:
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "pod", **metadata},
        "spec": {"nodeName": node, "volumes": list(volumes)},
    }


CLAIMED = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
EPHEMERAL = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}
OWNED = {"ownerReferences": [{"uid": "pod", "controller": True}]}


def claim(name: str = "c", *finalizers: str, **metadata: Any) -> Obj:
    return {"metadata": {"name": name, "namespace": "default", "finalizers": list(finalizers), **metadata}}


def test_a_claim_is_made_for_an_ephemeral_volume():
    (create,) = EphemeralVolumeController.reconcile(World(pod(CLAIMED, EPHEMERAL), {})).writes
    assert isinstance(create, Create)
    metadata = create.obj["metadata"]
    assert (metadata["name"], metadata["labels"], create.obj["spec"]) == ("p-scratch", {"a": "b"}, TEMPLATE["spec"])
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", "pod", True)
    assert EphemeralVolumeController.reconcile(World(pod(EPHEMERAL), {"p-scratch": claim("p-scratch", **OWNED)})).writes == ()


def test_a_claim_of_somebody_else_is_not_used():
    made = EphemeralVolumeController.reconcile(World(pod(EPHEMERAL), {"p-scratch": claim("p-scratch")}))
    (told,) = made.writes
    assert isinstance(told, Emit)
    why = "PVC default/p-scratch was not created for pod default/p (pod is not owner)"
    assert (told.note.reason, told.note.message, made.retry) == ("FailedBinding", f"ephemeral volume scratch: {why}", why)


GOING = {"deletionTimestamp": WHEN}
DONE = {"deletionTimestamp": WHEN, "deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("user", "used", "wanted"),
    [
        (pod(CLAIMED), claim(), True),
        (pod(CLAIMED, node=""), claim(), False),
        (pod(CLAIMED), claim("other"), False),
        (pod(CLAIMED, **DONE), claim(), True),
        (pod(EPHEMERAL), claim("p-scratch", **OWNED), True),
        (pod(EPHEMERAL), claim("p-scratch"), False),
        (pod(EPHEMERAL, **GOING), claim("p-scratch", **OWNED), True),
        (pod(EPHEMERAL, **DONE), claim("p-scratch", **OWNED), False),
    ],
)
def test_who_uses_a_claim(user: Obj, used: Obj, wanted: bool):
    assert uses(user, used) == wanted


HOLD = "kubernetes.io/pvc-protection"


@pytest.mark.parametrize(
    ("held", "used", "finalizers"),
    [
        (claim("c", "other"), None, ["other", HOLD]),
        (claim("c", HOLD), None, None),
        (claim("c", HOLD, **GOING), True, None),
        (claim("c", HOLD, "other", **GOING), False, ["other"]),
        (claim("c", **GOING), None, None),
    ],
)
def test_a_claim_is_held_while_it_is_used(held: Obj, used: bool | None, finalizers: list[str] | None):
    writes = ClaimProtectionController.reconcile(ClaimWorld(held, used)).writes
    assert [write.obj["metadata"]["finalizers"] for write in writes if isinstance(write, Update)] == (
        [finalizers] if finalizers is not None else []
    )


def test_the_server_is_asked_before_a_claim_is_let_go():
    (inquire,) = ClaimProtectionController.reconcile(ClaimWorld(claim("c", HOLD, **GOING), None)).writes
    assert isinstance(inquire, Inquire)


@pytest.mark.parametrize(("phase", "released"), [("Bound", False), ("Released", True), ("Available", True)])
def test_a_volume_is_held_while_it_is_bound(phase: str, released: bool):
    volume = {"metadata": {"name": "v", "finalizers": ["kubernetes.io/pv-protection"], **GOING}, "status": {"phase": phase}}
    assert bool(VolumeProtectionController.reconcile(VolumeWorld(volume)).writes) == released


VAC_HOLD = "kubernetes.io/vac-protection"


@pytest.mark.parametrize(
    ("metadata", "used", "finalizers"),
    [
        ({}, False, [VAC_HOLD]),
        ({"finalizers": [VAC_HOLD]}, False, None),
        ({"finalizers": [VAC_HOLD, "other"], **GOING}, False, ["other"]),
        ({"finalizers": [VAC_HOLD], **GOING}, True, None),
        ({**GOING}, False, None),
    ],
)
def test_a_class_of_attributes_is_held_while_it_is_named(metadata: Obj, used: bool, finalizers: list[str] | None):
    world = ClassWorld({"metadata": {"name": "gold", **metadata}}, used)
    writes = AttributesClassProtectionController.reconcile(world).writes
    assert [write.obj["metadata"]["finalizers"] for write in writes if isinstance(write, Update)] == (
        [finalizers] if finalizers is not None else []
    )


def test_a_claim_names_the_classes_that_it_has_wants_and_is_changed_to():
    status = {"currentVolumeAttributesClassName": "silver", "modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}
    assert named_by_claim({"spec": {"volumeAttributesClassName": "gold"}, "status": status}) == ["gold", "silver"]
    assert named_by_claim({"spec": {}}) == []
