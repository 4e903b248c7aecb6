"""One revision of one object: its final JSON bytes, and what is read from them on the way."""

from typing import Any

import orjson

from tiphys.machinery.go_json import html_safe
from tiphys.machinery.tree import Obj

_METADATA = b'"metadata":{'
_STAMP = b'"resourceVersion":"'


def encode(obj: Obj) -> bytes:
    """JSON for the store: apiVersion, kind and metadata come first, resourceVersion is left out (the store stamps it)."""
    meta: dict[str, Any] = dict(obj["metadata"])
    meta.pop("resourceVersion", None)
    ordered = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": meta}
    for key, value in obj.items():
        if key not in ordered:
            ordered[key] = value
    # Some clients compare what they have written (the data of a revision) byte by byte.
    return html_safe(orjson.dumps(ordered))


def stamp(value: bytes, revision: int) -> bytes:
    """`value` with its resourceVersion, spliced in: no decoding."""
    at = value.index(_METADATA) + len(_METADATA)
    comma = b"" if value[at : at + 1] == b"}" else b","
    return b'%b%b%d"%b%b' % (value[:at], _STAMP, revision, comma, value[at:])


def unstamp(data: bytes) -> bytes:
    """The opposite of `stamp`."""
    at = data.index(_METADATA) + len(_METADATA)
    if not data.startswith(_STAMP, at):
        return data
    end = data.index(b'"', at + len(_STAMP)) + 1
    if data[end : end + 1] == b",":
        end += 1
    return data[:at] + data[end:]


class Record:
    """Immutable. `data` is what goes over the wire; `tree()` decodes it anew, so keep the result, not the call."""

    __slots__ = ("bucket", "created", "data", "name", "revision")

    def __init__(self, bucket: str, name: str, data: bytes, revision: int, created: int) -> None:
        self.bucket = bucket
        self.name = name
        self.data = data
        self.revision = revision
        self.created = created

    @property
    def namespace(self) -> str:
        """Empty for a cluster-wide object."""
        return self.name.partition("/")[0] if "/" in self.name else ""

    def tree(self) -> Obj:
        tree: Obj = orjson.loads(self.data)
        return tree

    def __repr__(self) -> str:
        return f"Record({self.bucket}/{self.name}@{self.revision})"
