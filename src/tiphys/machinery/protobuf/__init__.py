"""Protobuf request bodies, read into the trees that JSON would have given.

A body is four bytes of magic and a `runtime.Unknown`: the apiVersion and kind of what it wraps, and its bytes. Those are read
by the field table, with no generated code. Upstream's encoder writes every field of a struct, set or not; zero values that its
JSON would leave out are therefore dropped here.
"""

from typing import Final

import orjson

from tiphys.machinery import field_table
from tiphys.machinery.errors import bad_request
from tiphys.machinery.protobuf.messages import message
from tiphys.machinery.protobuf.special import META
from tiphys.machinery.protobuf.wire import BYTES, Broken, pieces, text
from tiphys.machinery.tree import Obj

__all__ = ["MAGIC", "MEDIA_TYPE", "Broken", "decode", "message_of", "read"]

MAGIC = b"k8s\0"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_PACKAGES: Final[dict[str, str]] = {
    "": "api.core",
    "apiextensions.k8s.io": "apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "kube-aggregator.pkg.apis.apiregistration",
    "meta.k8s.io": "apimachinery.pkg.apis.meta",
    "rbac.authorization.k8s.io": "api.rbac",
    "flowcontrol.apiserver.k8s.io": "api.flowcontrol",
    "internal.apiserver.k8s.io": "api.apiserverinternal",
}
# Kinds that every group has.
_EVERYWHERE: Final = frozenset(
    (
        "APIGroup",
        "APIGroupList",
        "APIResourceList",
        "APIVersions",
        "ApplyOptions",
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "Status",
        "UpdateOptions",
        "WatchEvent",
    )
)


def decode(body: bytes) -> Obj:
    """The object in a body, its apiVersion and kind first. ApiError (400) for anything else, however broken."""
    try:
        return read(body)
    except Broken as problem:
        raise bad_request(str(problem)) from None


def read(body: bytes) -> Obj:
    """The same, for a caller that words the refusal: Broken for anything that is no object."""
    if not body.startswith(MAGIC):
        raise Broken("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    texts = {1: "", 2: "", 3: "", 4: ""}
    try:
        start, end = _unwrap(body, texts)
        return _object(body, start, end, *texts.values())
    except Broken as problem:
        raise Broken(str(problem), texts[1], texts[2]) from None
    except (ValueError, IndexError, RecursionError) as error:
        raise Broken(f"proto: {error}", texts[1], texts[2]) from None


def message_of(api_version: str, kind: str) -> str:
    """The message that carries a kind, named like its definition without `io.k8s.`."""
    group, _, version = api_version.rpartition("/")
    if kind in _EVERYWHERE:
        return META + kind
    package = _PACKAGES.get(group) or "api." + group.partition(".")[0]
    return f"{package}.{version}.{kind}"


def _unwrap(body: bytes, texts: dict[int, str]) -> tuple[int, int]:
    """Where the object stands in the envelope; `texts` takes its apiVersion, kind, content encoding and content type."""
    start = end = 0
    for number, wire, at, stop in pieces(body, len(MAGIC), len(body)):
        if wire != BYTES:
            continue
        if number == 1:
            for inner, inner_wire, begin, upto in pieces(body, at, stop):
                if inner_wire == BYTES and inner in (1, 2):
                    texts[inner] = text(body, begin, upto)
        elif number == 2:
            start, end = at, stop
        elif number in (3, 4):
            texts[number] = text(body, at, stop)
    return start, end


def _object(body: bytes, start: int, end: int, api_version: str, kind: str, encoding: str, content_type: str) -> Obj:
    if encoding:
        raise Broken(f"unable to decode a body with content encoding {encoding}")
    found: Obj = {"apiVersion": api_version, "kind": kind}
    if content_type not in ("", MEDIA_TYPE):
        # An object without a protobuf form travels as JSON inside.
        tree = orjson.loads(memoryview(body)[start:end])
        return tree if isinstance(tree, dict) else found
    name = message_of(api_version, kind)
    if not field_table.known(name):
        scheme = "pkg/api/legacyscheme/scheme.go:30"
        raise Broken(f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"')
    found.update(message(name)(body, start, end, 0))
    return found
