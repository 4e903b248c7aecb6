"""The difference between two statuses as a strategic merge patch."""

from tiphys.kubelet.status.conditions import PASSING
from tiphys.machinery.tree import Obj

_BY_ADDRESS = ("podIPs", "hostIPs")
"""Lists that a strategic patch would add to: they are replaced."""


def status_patch(before: Obj, after: Obj) -> Obj:
    """Empty where nothing changes. Conditions merge by type: those that others write stay as they are."""
    patch: Obj = {key: None for key in before if key not in after and key in OURS}
    for key, value in after.items():
        held = before.get(key)
        if held == value:
            continue
        if key == "conditions":
            known = {each["type"]: each for each in held or ()}
            changed = [
                _change(known.get(each["type"]) or {}, each) for each in value if not _same(known.get(each["type"]), each)
            ]
            over = {kind for kind in PASSING if kind in known} - {each["type"] for each in value}
            changed += [{"type": kind, "$patch": "delete"} for kind in sorted(over)]
            if changed:
                patch[key] = changed
        elif key in _BY_ADDRESS:
            patch[key] = [*value, {"$patch": "replace"}]
        else:
            patch[key] = value
    return patch


OURS = frozenset(
    (
        "phase",
        "reason",
        "message",
        "startTime",
        "hostIP",
        "hostIPs",
        "podIP",
        "podIPs",
        "initContainerStatuses",
        "containerStatuses",
        "ephemeralContainerStatuses",
        "resources",
        "allocatedResources",
    )
)


def _change(before: Obj, after: Obj) -> Obj:
    """The whole condition; what it no longer says is taken away."""
    return {**dict.fromkeys(before.keys() - after.keys()), **after}


def _same(one: Obj | None, other: Obj) -> bool:
    if one is None:
        return False
    return {key: value for key, value in one.items() if value is not None} == {
        key: value for key, value in other.items() if value is not None
    }
