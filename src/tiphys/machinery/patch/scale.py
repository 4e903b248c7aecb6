"""Who owns the number of replicas, between an object and its /scale.

A scale shows the entries that own the replicas of its parent, as if they owned `spec.replicas` of the scale; what a write to it
makes of them is carried back. On the way the entries of updates lose their time, which is upstream's doing.
"""

from collections.abc import Mapping
from typing import Any

from tiphys.machinery.patch.fieldset import LEAF, FieldSet, meet, minus
from tiphys.machinery.patch.managed import Entry, Managed, decode, encode
from tiphys.machinery.tree import Obj, Path

SCALE_VERSION = "autoscaling/v1"

_IN_SCALE: Path = ("spec", "replicas")

Paths = Mapping[str, Path]
"""Where the replicas are, by API version of the parent: `{"apps/v1": ("spec", "replicas")}`."""


def to_scale(entries: Any, paths: Paths) -> list[Obj]:
    """managedFields of the scale of an object that carries `entries`. ValueError for entries that cannot be read."""
    managed: Managed = {}
    for who, entry in decode(entries).items():
        at = paths.get(entry.api_version)
        if at and meet(entry.fields, _only(at)):
            managed[who] = Entry(_only(_IN_SCALE), SCALE_VERSION, entry.applied, entry.time, None)
    return encode(managed)


def to_parent(entries: Any, scale_entries: Any, api_version: str, paths: Paths) -> list[Obj]:
    """managedFields of the object after a write to its scale; `api_version` is the parent's in that request."""
    parent, scale = decode(entries), decode(scale_entries)
    managed: Managed = {}
    for who, entry in parent.items():
        if entry.api_version not in paths:
            continue
        own = _only(paths[entry.api_version])
        if not meet(entry.fields, own) or scale.pop(who, None) is not None:
            managed[who] = entry
            continue
        left = minus(entry.fields, own)
        if left:
            managed[who] = entry._replace(fields=left, source=None)
    for who, entry in scale.items():
        if meet(entry.fields, _only(_IN_SCALE)):
            time = parent[who].time if who in parent else None
            managed[who] = Entry(_only(paths[api_version]), api_version, entry.applied, time, None)
    return encode(managed)


def _only(at: Path) -> FieldSet:
    fields: FieldSet = LEAF
    for step in reversed(at):
        fields = {"f:" + step: fields}
    return fields
