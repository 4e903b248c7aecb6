"""Trees as caches keep them: without managedFields, and sharing with a tree that was there before whatever is equal.

Objects that one owner made from one template differ in little more than names and times: of ten thousand pods, caches keep the
templates once and the differences ten thousand times. Nothing is lost: who wants managedFields asks the server, and a write
without them leaves them as they are.
"""

from typing import Any

from tiphys.api.kind import Kind
from tiphys.machinery.tree import Obj

OWNERS = 4096
"""Whose last object is remembered; beyond that, all are forgotten and remembered anew."""
DEPTH = 6
"""As far down as trees are compared part by part: to the fields of a container's status."""

_NUMEROUS = frozenset(
    (
        ("", "pods"),
        ("", "nodes"),
        ("", "endpoints"),
        ("apps", "replicasets"),
        ("batch", "jobs"),
        ("discovery.k8s.io", "endpointslices"),
    )
)
"""Kinds that come by the thousand. None has a field of any shape whatever, where 1 and true, equal for us, might stand."""


class Lean:
    def __init__(self, kind: Kind) -> None:
        self._shares = (kind.group, kind.plural) in _NUMEROUS
        self._last: dict[str, Obj] = {}
        """By owner: its object that changed last."""

    def of(self, new: Obj) -> Obj:
        kept = _without_managed_fields(new)
        if not self._shares:
            return kept
        owners = kept["metadata"].get("ownerReferences")
        owner = owners[0]["uid"] if owners else ""
        like = self._last.get(owner)
        if like is not None:
            kept = _share(kept, like, DEPTH)
        elif len(self._last) >= OWNERS:
            self._last.clear()
        self._last[owner] = kept
        return kept


def _without_managed_fields(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return obj
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {key: kept if key == "metadata" else value for key, value in obj.items()}


def _share(new: Any, like: Any, depth: int) -> Any:
    """`new`, made of parts of `like` where they are equal."""
    if new == like:
        return like
    if not depth or type(new) is not type(like):
        return new
    if type(new) is dict:
        return {key: _share(value, like[key], depth - 1) if key in like else value for key, value in new.items()}
    if type(new) is list:
        shared = [_share(one, other, depth - 1) for one, other in zip(new, like, strict=False)]
        return shared + new[len(shared) :]
    return new
