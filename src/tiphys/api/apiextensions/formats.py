"""Formats that a schema may name. Others are kept, and warned of."""

from collections.abc import Iterator

from tiphys.api.apiextensions.walk import schemas_of, walk
from tiphys.machinery.tree import Obj

# For strings; numbers know a few of their own.
STRINGS = frozenset(
    [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "date-time",
        "k8s-short-name",
        "k8s-long-name",
    ]
)
NUMBERS = frozenset(("int32", "int64", "float", "double"))


def unknown_formats(definition: Obj) -> Iterator[str]:
    for schema in schemas_of(definition):
        for node in walk(schema):
            named = node.get("format") or ""
            if named and node.get("type") == "string" and named.replace("-", "") not in _PLAIN:
                yield named


_PLAIN = frozenset(each.replace("-", "") for each in STRINGS | NUMBERS)
