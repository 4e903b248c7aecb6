"""managedFields on every write: who owns which field."""

from functools import cache
from typing import Any

from tiphys.api.kind import Kind
from tiphys.apiserver.call import Call
from tiphys.machinery import tree
from tiphys.machinery.patch import apply
from tiphys.machinery.patch.managed import NO_RESET, Convert, Reset, manager_name, track_update
from tiphys.machinery.schema import Node
from tiphys.machinery.tree import Obj


def created(call: Call, obj: Obj) -> None:
    """The creator owns every field it sent, and those that defaults filled in."""
    changed(call, obj, None)


def changed(call: Call, new: Obj, old: Obj | None) -> None:
    """The writer takes over the fields that it changed."""
    kind = call.served.kind
    subresource = call.info.subresource
    managed = track_update(
        new,
        old,
        manager_of(call),
        kind.api_version,
        call.served.node,
        call.now,
        subresource=subresource,
        reset=reset_of(kind, subresource),
        convert=_converter(call),
    )
    set_managed(new, managed)


def applied(call: Call, live: Obj | None, configuration: Obj) -> Obj:
    """What a server-side apply makes of the live object, its managedFields included; not yet defaulted."""
    kind, subresource = call.served.kind, call.info.subresource
    applier = apply.Applier(
        manager=manager_of(call),
        api_version=kind.api_version,
        kind=kind.kind,
        node=call.served.node,
        subresource=subresource,
        force=call.flag("force"),
        reset=reset_of(kind, subresource),
        convert=_converter(call),
    )
    result, managed = apply.apply(live, configuration, applier, call.now)
    result = {**result, "metadata": dict(result.get("metadata") or {})}
    set_managed(result, managed)
    return result


def _converter(call: Call) -> Convert:
    """Entries of other versions see a write with the names that its fields have there."""
    kind, catalogue = call.served.kind, call.backend.catalogue

    def convert(obj: Obj, api_version: str) -> tuple[Obj, Node] | None:
        group, _, version = api_version.rpartition("/")
        target = catalogue.at(group, version, kind.plural)
        if target is None or target.kind.prefix != kind.prefix:
            return None
        stored = kind.conversion.to_stored(obj) if kind.conversion is not None else obj
        conversion = target.kind.conversion
        return (conversion.from_stored(stored) if conversion is not None else stored), target.node

    return convert


def manager_of(call: Call) -> str:
    return manager_name(call.option("fieldManager"), call.request.headers.get("user-agent", ""))


def set_managed(obj: Obj, managed: list[Any]) -> None:
    if managed:
        obj["metadata"]["managedFields"] = managed
    else:
        obj["metadata"].pop("managedFields", None)


@cache
def _only(path: tree.Path) -> Reset:
    return Reset(only=_fields((path,)))


@cache
def _all_but(*paths: tree.Path) -> Reset:
    return Reset(fields=_fields(paths))


def _fields(paths: tuple[tree.Path, ...]) -> Any:
    fields: Any = {}
    for path in paths:
        here = fields
        for step in path:
            here = here.setdefault(f"f:{step}", {})
    return fields


_METADATA, _SPEC, _STATUS = ("metadata",), ("spec",), ("status",)

_RESET: dict[tuple[str, str, str], tuple[tree.Path, ...]] = {
    ("", "pods", "status"): (_SPEC, ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("apps", "deployments", "status"): (_SPEC, ("metadata", "labels")),
    ("certificates.k8s.io", "certificatesigningrequests", ""): (_SPEC, _STATUS),
    ("certificates.k8s.io", "certificatesigningrequests", "status"): (_SPEC, ("status", "conditions")),
    ("certificates.k8s.io", "certificatesigningrequests", "approval"): (_SPEC, ("status", "certificate")),
    ("resource.k8s.io", "resourceclaims", ""): (_STATUS,),
}
"""What a write by this path cannot change, where that is not the usual: main writes no status, status writes no spec."""

_RESIZED = Reset(
    only={
        "f:spec": {f"f:{each}": {"*": {"f:resources": {}, "f:resizePolicy": {}}} for each in ("containers", "initContainers")}
    }
)
_EPHEMERAL = Reset(only={"f:spec": {"f:ephemeralContainers": {}}})


def reset_of(kind: Kind, subresource: str) -> Reset:
    """The fields that a write by this path cannot change, so that nobody comes to own them by it."""
    if subresource == "scale" and kind.scale is not None:
        return _only(tree.path(kind.scale.spec))
    special = _RESET.get((kind.group, kind.plural, subresource))
    if special is not None:
        return _all_but(*special)
    strategy = kind.strategy
    if subresource == "status":
        return _all_but(_METADATA, _SPEC) if strategy.status_keeps_metadata else _all_but(_SPEC)
    if subresource == "resize":
        return _RESIZED
    if subresource == "ephemeralcontainers":
        return _EPHEMERAL
    return _all_but(_STATUS) if strategy.status else NO_RESET
