"""Tables and partial objects: what `kubectl get` and metadata-only clients are shown instead of the objects. Core."""

from collections.abc import Sequence
from typing import Any

from tiphys.api.kind import Column, Kind
from tiphys.apiserver.column_texts import texts
from tiphys.machinery import duration, times, tree
from tiphys.machinery.tree import Obj

NAME = Column(
    "Name",
    "metadata.name",
    format="name",
    description="Name must be unique within a namespace. Is required when creating resources, although some resources may "
    "allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
)


def of(kind: Kind, items: Sequence[Obj], meta: Obj, now: float, include: str, version: str) -> Obj:
    columns = columns_of(kind)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version or 'v1'}",
        "metadata": meta,
        "columnDefinitions": [_definition(kind, column) for column in columns],
        "rows": [row(columns, item, now, include, version) for item in items],
    }


def columns_of(kind: Kind) -> Sequence[Column]:
    """Name comes first, except where a kind puts it elsewhere (events do)."""
    if not kind.custom and any(column.name == NAME.name for column in kind.columns):
        return kind.columns
    return (NAME, *kind.columns)


def row(columns: Sequence[Column], item: Obj, now: float, include: str, version: str) -> Obj:
    cells = [cell(column, item, now) for column in columns]
    if include == "None":
        return {"cells": cells, "object": None}
    return {"cells": cells, "object": item if include == "Object" else partial(item, version)}


CREATED_AT = "Created At"
"""Shown by kinds that have no columns of their own; the only built-in one that is called a date."""


def _definition(kind: Kind, column: Column) -> Obj:
    shown = "string" if column.type == "date" else column.type
    return {
        "name": column.name,
        "type": column.type if kind.custom else "date" if column.name == CREATED_AT else shown,
        "format": column.format,
        "description": texts().get((kind.group, kind.plural, column.name), column.description),
        "priority": 1 if column.wide else 0,
    }


def cell(column: Column, item: Obj, now: float) -> Any:
    if callable(column.value):
        value = column.value(item, now)
        if column.final:
            return value
    else:
        value = tree.get(item, column.value.split("."))
    if column.type == "date":
        return age(value, now)
    if value is None:
        return "" if column.type == "string" else 0 if column.type in ("integer", "number") else value
    return value


def age(timestamp: str | None, now: float) -> str:
    if not timestamp:
        return "<unknown>"
    return duration.human(now - times.parse(timestamp))


def partial(item: Obj, version: str) -> Obj:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version or 'v1'}",
        "metadata": item["metadata"],
    }


def partial_list(items: Sequence[Obj], meta: Obj, version: str) -> Obj:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version or 'v1'}",
        "metadata": meta,
        "items": [partial(item, version) for item in items],
    }
