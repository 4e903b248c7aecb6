"""/scale: the number of replicas of anything that has one, as an autoscaling/v1 Scale.

A Scale takes the same way as any object (decoded, patched, tracked as a kind of its own); what it then says is written into the
object behind it, whose managedFields learn who owns the number now.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tiphys.api.kind import AGE, Column, Kind
from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.rest import answers, bodies, patch, storing, tracking, update
from tiphys.apiserver.table import NAME
from tiphys.base.http.messages import Response
from tiphys.machinery import errors, selectors, tree
from tiphys.machinery.fields import invalid
from tiphys.machinery.patch import scale as ownership
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import AT_LEAST_ZERO

SCALE = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    schema="io.k8s.api.autoscaling.v1.Scale",
    columns=(
        Column("Name", "metadata.name", description=NAME.description),
        Column(
            "Desired",
            "spec.replicas",
            type="integer",
            description="replicas is the desired number of instances for the scaled object.",
        ),
        Column(
            "Available",
            "status.replicas",
            type="integer",
            description="replicas is the actual number of observed instances of the scaled object.",
        ),
        AGE,
    ),
)


def scale_of(kind: Kind, obj: Obj) -> Obj:
    assert kind.scale is not None
    scale, metadata = kind.scale, obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec: Obj = {}
    if replicas := tree.get(obj, tree.path(scale.spec), 0):
        spec["replicas"] = replicas
    status: Obj = {"replicas": tree.get(obj, tree.path(scale.status), 0)}
    if selector := _selector_text(tree.get(obj, tree.path(scale.selector)) if scale.selector else None):
        status["selector"] = selector
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {field: metadata[field] for field in kept if field in metadata},
        "spec": spec,
        "status": status,
    }


def _selector_text(selector: Any) -> str:
    if selector is None or isinstance(selector, str):
        return selector or ""
    if "matchLabels" in selector or "matchExpressions" in selector or not selector:
        return str(selectors.from_tree(selector))
    return str(selectors.from_labels(selector))


def _as_scale(call: Call) -> Call:
    return replace(call, served=Served(SCALE, call.backend.catalogue.schemas.node(SCALE.schema)))


async def get(call: Call) -> Response:
    answers.check_view(_as_scale(call))
    current = await update.load(call)
    if current is None:
        raise call.served.not_found(call.info.name)
    return _answer(call, current)


def _answer(call: Call, record: Record) -> Response:
    return answers.tree(_as_scale(call), scale_of(call.served.kind, answers.from_store(call, record)))


async def update_scale(call: Call) -> Response:
    as_scale = _as_scale(call)
    answers.form_of(call)
    check_write_options(call, "UpdateOptions")
    sent = bodies.read_object(as_scale)
    bodies.check_name(as_scale, sent)

    def wanted(old: Obj) -> Obj:
        new: Obj = tree.copy(sent)
        tracking.changed(as_scale, new, old)
        return new

    return await _change(call, wanted)


async def patch_scale(call: Call) -> Response:
    as_scale = _as_scale(call)
    media = patch.media_type(as_scale)
    answers.form_of(call)
    check_write_options(call, "PatchOptions", apply=media == patch.APPLY_YAML)

    def wanted(old: Obj) -> Obj:
        body = patch.Body(as_scale, media)
        if media == patch.APPLY_YAML:
            return patch.applied(as_scale, old, body)
        new = patch.patched(as_scale, old, body)
        tracking.changed(as_scale, new, old)
        return new

    return await _change(call, wanted)


async def _change(call: Call, wanted: Callable[[Obj], Obj]) -> Response:
    """Write what the client made of the Scale into the object behind it."""
    kind = call.served.kind
    assert kind.scale is not None
    at = tree.path(kind.scale.spec)
    paths = {kind.api_version: at}

    async def attempt() -> Record:
        current = await update.load(call)
        if current is None:
            raise call.served.not_found(call.info.name)

        def change(old: Obj) -> Obj:
            scale = scale_of(kind, old)
            entries = old["metadata"].get("managedFields") or []
            if owners := _owners(lambda: ownership.to_scale(entries, paths)):
                scale["metadata"]["managedFields"] = owners
            scale = wanted(scale)
            replicas = _replicas(scale) if kind.custom else _checked(scale, call.info.name)
            new: Obj = tree.copy(tree.put(old, at, replicas))
            said = scale["metadata"]
            new["metadata"]["resourceVersion"] = said.get("resourceVersion", "")
            new["metadata"]["uid"] = said.get("uid") or new["metadata"].get("uid", "")
            owners = _owners(lambda: ownership.to_parent(entries, said.get("managedFields") or [], kind.api_version, paths))
            tracking.set_managed(new, owners)
            return new

        return await update.change_object(call, current, change, applied=True)

    return _answer(call, await storing.read_modify_write(attempt, call))


def _owners(read: Callable[[], list[Obj]]) -> list[Obj]:
    try:
        return read()
    except ValueError:
        return []  # entries that cannot be read are nobody's


def _replicas(scale: Obj) -> int:
    return (scale.get("spec") or {}).get("replicas") or 0


def _checked(scale: Obj, name: str) -> int:
    """Of built-in kinds; custom resources are told what is wrong with the number by their own schema."""
    replicas = _replicas(scale)
    if replicas < 0:
        raise errors.invalid("autoscaling", "Scale", name, [invalid("spec.replicas", replicas, AT_LEAST_ZERO)])
    return replicas
