"""Label and field selectors of a list, watch or delete-collection."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from tiphys.api.kind import Kind
from tiphys.apiserver.call import Call
from tiphys.apiserver.catalogue import Served
from tiphys.machinery import errors, selectors, tree
from tiphys.machinery.fields import quote
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj

_ALWAYS = ("metadata.name", "metadata.namespace")

Matcher = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class Selection:
    labels: selectors.Selector | None
    fields: selectors.FieldSelector | None
    kind: Kind

    @property
    def name(self) -> str | None:
        """The one name that can match, if the selector says metadata.name=..."""
        return self.fields.exact("metadata.name") if self.fields is not None else None

    @property
    def everything(self) -> bool:
        return self.labels is None and self.fields is None

    def admits(self, obj: Obj) -> bool:
        """Whether an object (of the stored version) matches."""
        if self.labels is not None and not self.labels.matches(obj["metadata"].get("labels") or {}):
            return False
        if self.fields is None:
            return True
        shown = self.kind.conversion.from_stored(obj) if self.kind.conversion is not None else obj
        return self.fields.matches(lambda label: field_value(self.kind, shown, label))

    def matcher(self, labels_of: Callable[[Record], Mapping[str, str]]) -> Matcher | None:
        """A test over records, or None if everything matches. `labels_of` reads, and may remember, the labels of a record."""
        if self.everything:
            return None
        admits: Matcher = lambda record: self.admits(record.tree())  # noqa: E731
        if self.fields is None and self.labels is not None:
            wanted = self.labels.matches
            admits = lambda record: wanted(labels_of(record))  # noqa: E731
        needed = _needed(self)
        if not needed:
            return admits

        def matches(record: Record) -> bool:
            data = record.data
            # Most objects are turned down by a look at their bytes; only the others are decoded.
            for each in needed:
                if each not in data:
                    return False
            return admits(record)

        return matches


def _needed(selection: Selection) -> list[bytes]:
    """Bytes that no object can do without that the selector asks for."""
    needed = []
    for requirement in selection.labels.requirements if selection.labels is not None else ():
        if requirement.operator in ("=", "==") or (requirement.operator == "in" and len(requirement.values) == 1):
            needed.append(b"%b:%b" % (orjson.dumps(requirement.key), orjson.dumps(requirement.values[0])))
        elif requirement.operator in ("in", "exists", "gt", "lt"):
            needed.append(orjson.dumps(requirement.key) + b":")
    if selection.fields is not None and selection.kind.conversion is None:
        for label, equal, value in selection.fields.terms:
            # A field that is not there counts as empty, and one that is computed need not be there at all.
            if equal and value and label not in selection.kind.field_of and label.startswith(_PLAIN_FIELDS):
                needed.append(orjson.dumps(value))
    return needed


_PLAIN_FIELDS = ("metadata.name", "spec.nodeName", "status.phase")


def selection_of(call: Call) -> Selection:
    """Raises ApiError for selectors that cannot be read, or that name a field the kind does not offer."""
    label_text, field_text = call.option("labelSelector"), call.option("fieldSelector")
    labels = fields = None
    kind = call.served.kind
    try:
        if label_text:
            labels = selectors.parse_labels(label_text)
            labels = None if labels.empty else labels
        if field_text:
            fields = selectors.parse_fields(field_text)
    except ValueError as problem:
        raise errors.bad_request(str(problem)) from None
    if call.info.verb == "watch" and call.info.name:
        # The old way to watch one object has its name in the path.
        named = ("metadata.name", True, call.info.name)
        said = fields.terms if fields is not None else ()
        fields = selectors.FieldSelector((*said, named) if named not in said else said)
    if fields is not None:
        for label in fields.fields:
            if label not in _ALWAYS and label not in kind.selectable:
                raise errors.bad_request(_unsupported(call.served, label))
        fields = None if fields.empty else fields
    return Selection(labels, fields, kind)


_OWN_WORDS = frozenset(
    (
        ("", "pods"),
        ("", "nodes"),
        ("", "replicationcontrollers"),
        ("", "events"),
        ("", "namespaces"),
        ("", "secrets"),
        ("", "services"),
        ("events.k8s.io", "events"),
        ("certificates.k8s.io", "certificatesigningrequests"),
    )
)


def _unsupported(served: Served, label: str) -> str:
    kind = served.kind
    if served.custom or (kind.group, kind.plural) in _OWN_WORDS:
        return f"field label not supported: {label}"
    if kind.plural == "resourceslices":
        return f"field label not supported for {kind.api_version}, Kind={kind.kind}: {label}"
    if kind.plural == "jobs":
        return f"field label {quote(label)} not supported for Job"
    return f'{quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def field_value(kind: Kind, obj: Obj, label: str) -> str:
    reader = kind.field_of.get(label)
    if reader is not None:
        return reader(obj)
    value = tree.get(obj, label.split("."), "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
