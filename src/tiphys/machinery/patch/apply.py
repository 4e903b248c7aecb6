"""Server-side apply: the applied configuration is all that its manager wants to say about the object.

Fields that it says are merged in and owned; fields that it used to say and says no more are removed unless somebody else owns
them; fields that somebody else owns with another value are a conflict, unless forced.
"""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from tiphys.machinery.errors import ApiError, Details, bad_request
from tiphys.machinery.patch.combine import merge, remove, settle
from tiphys.machinery.patch.compare import Change, compare
from tiphys.machinery.patch.fieldset import LEAF, FieldSet, meet, minus, paths, union
from tiphys.machinery.patch.go import escape, go_quote
from tiphys.machinery.patch.json import GO_KINDS
from tiphys.machinery.patch.managed import (
    NO_RESET,
    STRIPPED,
    Convert,
    Entry,
    Identity,
    Managed,
    Reset,
    adapt,
    change_for,
    changed,
    decode,
    encode,
    identity,
    take_from_others,
    update,
)
from tiphys.machinery.patch.shape import BadElementError, Shape, fields_of, shape_of, with_named_fields
from tiphys.machinery.patch.typed import problems
from tiphys.machinery.schema import Node
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj, drop, get, put

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_FIRST_APPLY = "before-first-apply"

_ANNOTATIONS = ("metadata", "annotations")
_MANAGED = ("metadata", "managedFields")
_ANNOTATIONS_MAX = 256 * 1024


@dataclass(frozen=True, slots=True)
class Applier:
    """Who applies, and to what kind."""

    manager: str
    api_version: str
    kind: str
    node: Node
    subresource: str = ""
    force: bool = False
    reset: Reset = NO_RESET
    convert: Convert | None = None

    @property
    def identity(self) -> Identity:
        return identity(self.manager, "Apply", self.api_version, self.subresource)

    @property
    def shape(self) -> Shape:
        return shape_of(self.node)


class _ConflictsError(Exception):
    """Fields of the configuration that others own with other values."""

    def __init__(self, fields: dict[Identity, FieldSet]) -> None:
        super().__init__()
        self.fields = fields


def apply(live: Obj | None, applied: Any, applier: Applier, now: float) -> tuple[Obj, list[Obj]]:
    """What a server-side apply makes of `live` (None: it creates), and the managedFields that go with it.

    The object comes without managedFields and before defaulting. If nothing changes it equals `live` (and is made of it), and
    the times in the managedFields stay. No argument is changed. Raises ApiError: 400 for a configuration that may not be
    applied, 409 with one cause a field for conflicts, 500 in upstream's words for one that does not fit the schema.
    """
    if applied is None:
        applied = {}
    _check_kind(applied, applier)
    base: Obj = live if live is not None else {"apiVersion": applier.api_version, "kind": applier.kind, "metadata": {}}
    managed = _decoded(base)
    adapt(managed, applier.api_version, applier.node)
    bare = drop(base, _MANAGED)
    if not managed:
        first = identity(BEFORE_FIRST_APPLY, "Update", applier.api_version, applier.subresource)
        if live is not None:
            update(managed, None, bare, first, applier.api_version, applier.node, now, applier.reset, applier.convert)
    try:
        result, managed = _apply(bare, applied, dict(managed), applier, now)
    except _ConflictsError as conflicts:
        result, managed = _as_kubectl(bare, applied, managed, applier, now, conflicts)
    if applier.manager == "kubectl" and get(result, (*_ANNOTATIONS, LAST_APPLIED)):
        result = _with_last_applied(result, applied)
    return result, encode(managed)


def _check_kind(applied: Any, applier: Applier) -> None:
    if not isinstance(applied, dict):
        told = f"cannot unmarshal {GO_KINDS.get(type(applied), 'value')} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: {told}")
    api_version, kind = (each if isinstance(each, str) else "" for each in (applied.get("apiVersion"), applied.get("kind")))
    if (api_version, kind) != (applier.api_version, applier.kind):
        group, _, version = api_version.rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    if get(applied, _MANAGED) is not None:
        raise bad_request("metadata.managedFields must be nil")


def _decoded(live: Obj) -> Managed:
    try:
        return decode(get(live, _MANAGED))
    except ValueError as error:
        raise ApiError(500, "", f"failed to decode managed fields: {error}") from None


def _called(tree: Obj) -> str:
    """How upstream names an object in its complaints."""
    meta = tree.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    group, _, version = str(tree.get("apiVersion", "")).rpartition("/")
    return f"({meta.get('namespace', '')}/{meta.get('name', '')}; {group}/{version}, Kind={tree.get('kind', '')})"


def _apply(live: Obj, applied: Obj, managed: Managed, applier: Applier, now: float) -> tuple[Obj, Managed]:
    shape = applier.shape
    wrong = problems(shape, applied)
    if wrong:
        raise ApiError(500, "", f"failed to create typed patch object {_called(applied)}: {wrong}")
    try:
        merged = merge(shape, live, applied)
        claimed = applier.reset.filter(fields_of(shape, applied))
        who = applier.identity
        last = managed.get(who)
        managed[who] = Entry(claimed, applier.api_version, True, last.time if last else None, None)
        pruned = _prune(shape, merged, managed, last, applier)
        _take(managed, live, pruned, applier)
    except BadElementError as error:
        raise ApiError(500, "", f"failed to merge config: {error}") from None
    own = minus(claimed, STRIPPED)
    if not own:
        managed.pop(who, None)
    elif pruned == live and last is not None and last.fields == own and last.api_version == applier.api_version:
        managed[who] = last
    else:
        time = (last.time if last else None) if pruned == live else rfc3339(now)
        managed[who] = Entry(own, applier.api_version, True, time, None)
    return (live if pruned == live else settle(pruned)), managed


def _prune(shape: Shape, merged: Obj, managed: Managed, last: Entry | None, applier: Applier) -> Obj:
    """Take out what the manager applied last time, does not apply now, and nobody else owns."""
    if last is None or not last.fields:
        return merged
    version = last.api_version
    if version != applier.api_version:
        # The last configuration was of another version: its names for the fields mean nothing here.
        converted = applier.convert(merged, version) if applier.convert else None
        if converted is None:
            return merged
        pruned = _prune_at(shape_of(converted[1]), converted[0], managed, last)
        back = applier.convert(pruned, applier.api_version) if applier.convert else None
        return back[0] if back is not None else merged
    return _prune_at(shape, merged, managed, last)


def _prune_at(shape: Shape, merged: Obj, managed: Managed, last: Entry) -> Obj:
    owned: FieldSet = LEAF
    for entry in managed.values():
        if entry.api_version == last.api_version:
            owned = union(owned, entry.fields)
    owned = with_named_fields(owned, shape)
    mine = with_named_fields(last.fields, shape)
    if not minus(mine, owned):
        return merged
    everything = with_named_fields(fields_of(shape, merged), shape)
    pruned = remove(shape, merged, mine)
    # Put back what others own (or the manager still says), with what that needs to stand in.
    kept = union(with_named_fields(fields_of(shape, pruned), shape), owned)
    pruned = remove(shape, merged, minus(everything, kept))
    # Put back what went along with it although the manager never owned it.
    left = with_named_fields(fields_of(shape, pruned), shape)
    result: Obj = remove(shape, merged, meet(minus(everything, left), mine))
    return result


def _take(managed: Managed, live: Obj, new: Obj, applier: Applier) -> None:
    """Find the conflicts of the change with the owners of its fields; without any, or forced, take the fields from them."""
    change = changed(live, new, applier.node, applier.reset)
    if not change.now and not change.gone:
        return
    if not applier.force:
        changes: dict[str, Change | None] = {applier.api_version: change}
        conflicts: dict[Identity, FieldSet] = {}
        for who, entry in managed.items():
            if who == applier.identity:
                continue
            theirs = change_for(entry.api_version, live, new, changes, applier.reset, applier.convert)
            disputed = meet(entry.fields, theirs.now) if theirs is not None else LEAF
            if disputed:
                conflicts[who] = disputed
        if conflicts:
            raise _ConflictsError(conflicts)
    take_from_others(managed, applier.identity, live, new, change, applier.api_version, applier.reset, applier.convert)


def _as_kubectl(
    live: Obj, applied: Obj, managed: Managed, applier: Applier, now: float, conflicts: _ConflictsError
) -> tuple[Obj, Managed]:
    """kubectl may overrule the fields that kubectl itself applied on the client's side before."""
    allowed = _client_side_applied(live, applier) if applier.manager == "kubectl" else None
    if allowed is None:
        raise _conflict(conflicts.fields)
    disputed = {who: minus(fields, allowed) for who, fields in conflicts.fields.items()}
    disputed = {who: fields for who, fields in disputed.items() if fields}
    if disputed:
        raise _conflict(disputed)
    forced = replace(applier, force=True)
    return _apply(live, applied, dict(managed), forced, now)


def _client_side_applied(live: Obj, applier: Applier) -> FieldSet | None:
    """The fields that the last-applied annotation says and the object still has as they were said there."""
    text = get(live, (*_ANNOTATIONS, LAST_APPLIED))
    if not text:
        return None
    shape = applier.shape
    try:
        last = orjson.loads(text)
        if not isinstance(last, dict) or last.get("apiVersion") != applier.api_version or problems(shape, last):
            return None
        change = compare(shape, last, live)
        return minus(minus(fields_of(shape, last), change.now), change.gone)
    except (orjson.JSONDecodeError, BadElementError):
        return None


def _conflict(fields: dict[Identity, FieldSet]) -> ApiError:
    ordered = {who: list(paths(fields[who])) for who in sorted(fields)}
    causes = tuple(
        {"reason": "FieldManagerConflict", "message": f"conflict with {_told(who)}", "field": path}
        for who, each in ordered.items()
        for path in each
    )
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines: list[str] = []
        for who, each in ordered.items():
            lines.append(f"conflicts with {_told(who)}:")
            lines.extend(f"- {path}" for path in each)
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, Details(causes=causes))


def _told(who: Identity) -> str:
    told = go_quote(who.manager)
    if who.subresource:
        told += f" with subresource {go_quote(who.subresource)}"
    return told if who.operation == "Apply" else f"{told} using {who.api_version}"


def _with_last_applied(result: Obj, applied: Obj) -> Obj:
    """Keep kubectl's own annotation up to date, so that a client-side apply may follow."""
    config = drop(applied, (*_ANNOTATIONS, LAST_APPLIED))
    said = get(config, _ANNOTATIONS)
    if said is not None:
        config = put(config, _ANNOTATIONS, {name: value or "" for name, value in said.items()})
    text = escape(orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode()) + "\n"
    annotations = {**get(result, _ANNOTATIONS), LAST_APPLIED: text}
    if sum(len(name.encode()) + len(str(value or "").encode()) for name, value in annotations.items()) > _ANNOTATIONS_MAX:
        del annotations[LAST_APPLIED]
    return put(result, _ANNOTATIONS, annotations)
