"""The API as components see it. Two implementations: HTTP (`rest.py`) and in-process (`local.py`)."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tiphys.api.kind import Kind
from tiphys.machinery.tree import Obj

PatchType = Literal["json", "merge", "strategic", "apply"]


@dataclass(frozen=True, slots=True)
class Listed:
    items: list[Obj]
    """Read-only: the same trees may be shared with others."""
    revision: str
    continue_token: str = ""


def listed(found: Obj) -> Listed:
    """As a server answers, in a list object."""
    meta = found.get("metadata") or {}
    return Listed(found.get("items") or [], meta.get("resourceVersion", ""), meta.get("continue", ""))


@dataclass(frozen=True, slots=True)
class Watched:
    """One watch event. A BOOKMARK's object has only kind, apiVersion and metadata."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Obj


class Client(Protocol):
    """Errors of the API come as machinery.errors.ApiError; a server that cannot be reached as ConnectionError.

    `namespace` is empty for cluster-wide kinds. `params` are query parameters in the API's own words
    (fieldManager, dryRun, propagationPolicy, ...).
    """

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "", params: Mapping[str, str] = {}
    ) -> Obj: ...

    async def list(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> Listed: ...

    def watch(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> AsyncIterator[Watched]:
        """From `params["resourceVersion"]`; ends when the server ends it."""
        ...

    async def create(
        self,
        kind: Kind,
        obj: Obj,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        params: Mapping[str, str] = {},
    ) -> Obj:
        """`name` and `subresource` for POSTs below an object: binding, eviction, token."""
        ...

    async def update(self, kind: Kind, obj: Obj, *, subresource: str = "", params: Mapping[str, str] = {}) -> Obj: ...

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = "merge",
        subresource: str = "",
        params: Mapping[str, str] = {},
    ) -> Obj: ...

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        options: Obj | None = None,
        params: Mapping[str, str] = {},
    ) -> Obj:
        """Without a name: everything in the namespace that the selectors in `params` choose."""
        ...
