"""Who owns the claims of a pod, so that they go when the policy says so:

    whenScaled  whenDeleted   owner of a claim
    Retain      Retain        nobody
    Retain      Delete        the set
    Delete      Retain        the pod, once it is to go because the set shrinks
    Delete      Delete        the pod, once it is to go because the set shrinks; else the set

Claims that somebody else manages, or that a former set or pod of the same name still owns, are left alone.
"""

from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.pods import PODS
from tiphys.api.kind import Kind
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def _policy(stateful_set: Obj) -> tuple[bool, bool]:
    """Whether claims go when the set shrinks, and when it goes."""
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenScaled") == "Delete", policy.get("whenDeleted") == "Delete"


def _names(reference: Obj, kind: Kind, obj: Obj) -> bool:
    said = reference.get("apiVersion"), reference.get("kind"), reference.get("name")
    return said == (kind.api_version, kind.kind, meta.name(obj))


def _is_stale(claim: Obj, kind: Kind, obj: Obj) -> bool:
    """It belongs to something of this name that is no more."""
    named = next((each for each in meta.owners(claim) if _names(each, kind, obj)), None)
    return named is not None and named.get("uid") != meta.uid(obj)


def blocks(claim: Obj, stateful_set: Obj, pod: Obj) -> bool:
    """A claim that goes with its former pod must be gone before the next pod comes."""
    return _policy(stateful_set)[0] and _is_stale(claim, PODS, pod)


def has_other_controller(claim: Obj, stateful_set: Obj, pod: Obj) -> bool:
    if not any(_policy(stateful_set)):
        return False
    return any(
        each.get("controller") and not _names(each, STATEFULSETS, stateful_set) and not _names(each, PODS, pod)
        for each in meta.owners(claim)
    )


def owners(claim: Obj, stateful_set: Obj, pod: Obj, *, stays: bool) -> list[Obj] | None:
    """The owner references that a claim should have; None: leave it as it is. `stays`: the set still wants this pod."""
    if _is_stale(claim, STATEFULSETS, stateful_set) or _is_stale(claim, PODS, pod):
        return None
    ours = {meta.uid(stateful_set), meta.uid(pod)} - {""}
    mine = [each for each in meta.owners(claim) if each.get("uid") in ours]
    others = [
        each for each in meta.owners(claim) if not _names(each, STATEFULSETS, stateful_set) and not _names(each, PODS, pod)
    ]
    if has_other_controller(claim, stateful_set, pod):
        return others if mine else None
    when_scaled, when_deleted = _policy(stateful_set)
    wanted: Obj | None = None
    if when_scaled and not stays:
        wanted = reference_to(PODS, pod)
    elif when_deleted:
        wanted = reference_to(STATEFULSETS, stateful_set)
    if [each["uid"] for each in mine if each.get("controller")] == ([wanted["uid"]] if wanted else []) and all(
        each.get("controller") for each in mine
    ):
        return None
    return [*others, wanted] if wanted is not None else others
