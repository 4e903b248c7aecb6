"""metadata.managedFields: who set which fields, kept up to date by every write.

A write that is not an apply makes its manager the owner of what it added or changed, and takes those fields, and the ones that
went, from everybody else. Entries that a write does not touch are kept as they are, the very same dicts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tiphys.machinery.patch.compare import Change, compare
from tiphys.machinery.patch.fieldset import LEAF, BadFieldsError, FieldSet, matching, minus, parse, union, without_below
from tiphys.machinery.patch.shape import BadElementError, adapted, shape_of
from tiphys.machinery.schema import Node
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj

MAX_UPDATE_MANAGERS = 10
MANAGER_NAME_MAX = 128
ANCIENT = "ancient-changes"

Convert = Callable[[Obj, str], tuple[Obj, Node] | None]
"""An object in another API version of its kind, with the schema of that; None for a version that is not served any more."""

# What is nobody's: identity and bookkeeping.
STRIPPED: FieldSet = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": dict.fromkeys(
        (
            "f:clusterName",
            "f:creationTimestamp",
            "f:generation",
            "f:managedFields",
            "f:name",
            "f:namespace",
            "f:resourceVersion",
            "f:selfLink",
            "f:uid",
        ),
        LEAF,
    ),
}


class Identity(NamedTuple):
    """What makes two entries one. An applier keeps its entry when it changes the API version."""

    manager: str
    operation: str
    api_version: str
    subresource: str


class Entry(NamedTuple):
    fields: FieldSet
    api_version: str
    applied: bool
    time: str | None
    source: Obj | None
    """The entry as it stands in the object, while it says the same."""


Managed = dict[Identity, Entry]


class Reset:
    """What a write cannot change whatever it says: the status of a main write, all but the status of a status write.

    `fields`: these, and what is below them: `{"f:status": {}}`. `only`: if given, everything but these; `*` is any element:
    `{"f:spec": {"f:containers": {"*": {"f:resources": {}}}}}`. Make one a kind and subresource, and keep it.
    """

    __slots__ = ("fields", "only", "skip")

    def __init__(self, fields: FieldSet = LEAF, only: FieldSet = LEAF) -> None:
        self.fields = fields
        self.only = only
        self.skip = union(STRIPPED, fields)

    def filter(self, fields: FieldSet) -> FieldSet:
        kept = without_below(fields, self.fields)
        return matching(kept, self.only) if self.only else kept


NO_RESET = Reset()


def identity(manager: str, operation: str, api_version: str, subresource: str) -> Identity:
    return Identity(manager or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager of a request: what it says, else the user agent up to the first slash, printable, at most 128 bytes."""
    if field_manager:
        return field_manager
    name = ""
    for character in user_agent.partition("/")[0]:
        if character.isprintable():
            if len((name + character).encode()) > MANAGER_NAME_MAX:
                break
            name += character
    return name


def decode(entries: Any) -> Managed:
    """The entries of managedFields. ValueError for what upstream does not accept."""
    managed: Managed = {}
    for position, entry in enumerate(entries or ()):
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            raise BadFieldsError("operation must be `Apply` or `Update`")
        api_version = entry.get("apiVersion", "")
        if not api_version:
            raise BadFieldsError("apiVersion must not be empty")
        kind = entry.get("fieldsType", "")
        if kind != "FieldsV1":
            if not kind:
                raise BadFieldsError(f"missing fieldsType in managed fields entry {position}")
            raise BadFieldsError(f'invalid fieldsType "{kind}" in managed fields entry {position}')
        applied = operation == "Apply"
        who = Identity(entry.get("manager", ""), operation, "" if applied else api_version, entry.get("subresource", ""))
        managed[who] = Entry(entry.get("fieldsV1") or LEAF, api_version, applied, entry.get("time"), entry)
    return managed


def canonical(managed: Managed) -> Managed:
    """Entries that came from a client: their field sets checked, in order. ValueError for sets that cannot be read."""
    return {who: entry._replace(fields=parse(entry.fields), source=None) for who, entry in managed.items()}


def encode(managed: Managed) -> list[Obj]:
    """The entries as an object carries them, in upstream's order: appliers first, then by time, manager, version."""
    listed = [(who, entry) for who, entry in managed.items() if entry.fields or entry.source is not None]
    if len(listed) > 1:
        listed.sort(key=_order)
    return [entry.source if entry.source is not None else _entry(who, entry) for who, entry in listed]


def _order(item: tuple[Identity, Entry]) -> tuple[str, ...]:
    who, entry = item
    return who.operation, entry.time or "", who.manager, entry.api_version, who.subresource


def _entry(who: Identity, entry: Entry) -> Obj:
    out: Obj = {"manager": who.manager, "operation": who.operation, "apiVersion": entry.api_version}
    if entry.time is not None:
        out["time"] = entry.time
    out["fieldsType"] = "FieldsV1"
    out["fieldsV1"] = entry.fields
    if who.subresource:
        out["subresource"] = who.subresource
    return out


def track_update(
    new: Obj,
    old: Obj | None,
    manager: str,
    api_version: str,
    node: Node,
    now: float,
    *,
    subresource: str = "",
    reset: Reset = NO_RESET,
    convert: Convert | None = None,
) -> list[Obj]:
    """The managedFields of `new`, which a create (`old` is None), an update or a patch other than apply is about to store.

    `new` is the object as decoded and defaulted, before mutating admission and before the kind's own preparation: what those
    change has no owner. Its metadata.managedFields count as a wish: a main write may edit or (with `[]` or `[{}]`) reset them.
    Neither tree is changed. An empty list means that the object carries none.
    """
    built_in = bool(shape_of(node).present)
    managed = _wished(new, old, subresource, built_in)
    if not managed and old is not None and old.get("metadata", {}).get("uid"):
        # Nobody tracks an object whose managedFields were cleared, until the next apply.
        return []
    if not built_in:
        # Only the schema of a custom resource changes within a version.
        adapt(managed, api_version, node)
    try:
        update(managed, old, new, identity(manager, "Update", api_version, subresource), api_version, node, now, reset, convert)
    except (BadElementError, BadFieldsError):
        # A list that cannot be told apart by its keys: upstream gives up on the object too.
        return []
    return encode(managed)


def _wished(new: Obj, old: Obj | None, subresource: str, built_in: bool) -> Managed:
    live = ((old or {}).get("metadata") or {}).get("managedFields")
    said = (new.get("metadata") or {}).get("managedFields")
    if subresource or said is None or said is live or said == live:
        return decode_or_nothing(live)
    if said == [{}] or (not said and built_in):
        # Of a custom resource an empty list means nothing, as upstream reads it.
        return {}
    try:
        return canonical(decode(said)) or decode_or_nothing(live)
    except ValueError:
        return decode_or_nothing(live)


def decode_or_nothing(entries: Any) -> Managed:
    try:
        return decode(entries)
    except ValueError:
        return {}


def update(
    managed: Managed,
    old: Obj | None,
    new: Obj,
    who: Identity,
    api_version: str,
    node: Node,
    now: float,
    reset: Reset,
    convert: Convert | None,
) -> None:
    """Enter the change from `old` to `new` by `who` into `managed`."""
    change = changed(old, new, node, reset)
    take_from_others(managed, None, old, new, change, api_version, reset, convert)
    if not change.now:
        return
    previous = managed.get(who)
    fields = change.now if previous is None else union(previous.fields, change.now)
    managed[who] = Entry(fields, api_version, False, rfc3339(now), None)
    _cap(managed)


def adapt(managed: Managed, api_version: str, node: Node) -> None:
    """Bring the entries of this version in line with what the schema has become since they were written."""
    for who, entry in managed.items():
        if entry.api_version == api_version:
            fields = adapted(entry.fields, shape_of(node))
            if fields is not entry.fields:
                managed[who] = entry._replace(fields=fields, source=None)


def changed(old: Obj | None, new: Obj, node: Node, reset: Reset) -> Change:
    shape = shape_of(node)
    change = compare(shape, {"metadata": {}} if old is None else old, new, reset.skip)
    if reset.only:
        change.now = matching(change.now, reset.only)
        change.gone = matching(change.gone, reset.only)
    return change


def take_from_others(
    managed: Managed,
    spare: Identity | None,
    old: Obj | None,
    new: Obj,
    change: Change,
    api_version: str,
    reset: Reset,
    convert: Convert | None,
) -> None:
    """Take what changed or went from all entries but `spare`'s; entries that are left without fields go."""
    changes: dict[str, Change | None] = {api_version: change}
    for who, entry in list(managed.items()):
        if who == spare:
            continue
        theirs = change_for(entry.api_version, old, new, changes, reset, convert)
        if theirs is None:
            del managed[who]
            continue
        fields = minus(minus(entry.fields, theirs.now), theirs.gone)
        if fields is not entry.fields:
            if fields:
                managed[who] = entry._replace(fields=fields, source=None)
            else:
                del managed[who]


def change_for(
    api_version: str,
    old: Obj | None,
    new: Obj,
    changes: dict[str, Change | None],
    reset: Reset,
    convert: Convert | None,
) -> Change | None:
    """The change as an entry of another version sees it; None for a version that is gone."""
    if api_version not in changes:
        after = convert(new, api_version) if convert else None
        before = convert(old, api_version) if convert and old is not None else (None, None)
        if after is None or before is None:
            changes[api_version] = None
        else:
            changes[api_version] = changed(before[0], after[0], after[1], reset)
    return changes[api_version]


def _cap(managed: Managed) -> None:
    """Merge the oldest updates of one version into one entry while there are more than ten."""
    updaters = [who for who, entry in managed.items() if not entry.applied]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return
    updaters.sort(key=lambda who: (managed[who].time or "", who))
    first: dict[str, Identity] = {}
    for who in updaters:
        if excess <= 0:
            break
        entry = managed[who]
        bucket = Identity(ANCIENT, "Update", entry.api_version, "")
        earlier = first.setdefault(entry.api_version, who)
        if earlier == who:
            continue
        if bucket not in managed:
            managed[bucket] = managed.pop(earlier)._replace(source=None)
        merged = union(entry.fields, managed[bucket].fields)
        managed[bucket] = Entry(merged, entry.api_version, False, entry.time, None)
        if who != bucket:
            del managed[who]
        excess -= 1


def keep_times(new: Obj, old: Obj) -> Obj:
    """`new`, or with the old managedFields if nothing but their times differs: a write that says nothing new stores nothing."""
    ours, theirs = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not ours or not theirs or len(ours) != len(theirs) or ours == theirs:
        return new
    if any(_timeless(one) != _timeless(other) for one, other in zip(ours, theirs, strict=True)):
        return new
    if _rest(new) != _rest(old):
        return new
    return {**new, "metadata": {**new["metadata"], "managedFields": theirs}}


def _rest(tree: Obj) -> tuple[Obj, Obj]:
    """The object without what this write may have to take back: its managedFields, and the revision it is not stored at yet."""
    bookkeeping = ("managedFields", "resourceVersion")
    metadata = {name: value for name, value in tree["metadata"].items() if name not in bookkeeping}
    return metadata, {name: value for name, value in tree.items() if name != "metadata"}


def _timeless(entry: Obj) -> Obj:
    return {name: value for name, value in entry.items() if name != "time"}
