"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had, numbered, so that it can go back to one.

A revision holds a patch that puts its template back. Revisions are compared by what they say; their names only have to differ.
"""

from collections.abc import Iterable, Sequence

import orjson

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.kind import Kind
from tiphys.controllers.plan import Create, Delete, Update
from tiphys.controllers.pods import reference_to
from tiphys.controllers.templates import significant
from tiphys.machinery import meta
from tiphys.machinery.go_json import html_safe
from tiphys.machinery.meta import safe_encode
from tiphys.machinery.tree import Obj

HASH_LABEL = "controller-revision-hash"
"""On pods: which revision they are of."""
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
_PREFIX_LENGTH = 223


def data_of(owner: Obj) -> Obj:
    """The patch that makes an owner's template what it is now."""
    return {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}


def template_of(revision: Obj) -> Obj:
    return {key: value for key, value in revision["data"]["spec"]["template"].items() if key != "$patch"}


def matches(revision: Obj, data: Obj) -> bool:
    found = revision.get("data")
    return bool(found == data or significant(found) == significant(data))


def in_order(revisions: Iterable[Obj]) -> list[Obj]:
    """The oldest first."""
    return sorted(revisions, key=lambda each: (number(each), each["metadata"].get("creationTimestamp") or "", meta.name(each)))


def number(revision: Obj) -> int:
    found: int = revision.get("revision", 0)
    return found


def next_number(revisions: Iterable[Obj]) -> int:
    return max((number(each) for each in revisions), default=0) + 1


def digest(data: Obj, collisions: int) -> str:
    """As upstream reckons it (FNV-1 over Go's JSON of the patch, then the count), so that names agree."""
    text = html_safe(orjson.dumps(data, option=orjson.OPT_SORT_KEYS))
    found = _FNV_OFFSET
    for byte in b"%b%d" % (text, collisions):
        found = ((found * _FNV_PRIME) & 0xFFFFFFFF) ^ byte
    return safe_encode(str(found))


def name_of(owner: Obj, digested: str) -> str:
    return f"{meta.name(owner)[:_PREFIX_LENGTH]}-{digested}"


def collisions(owner: Obj) -> int:
    found: int = (owner.get("status") or {}).get("collisionCount") or 0
    return found


def create(kind: Kind, owner: Obj, digested: str, label: str, at: int) -> Create:
    """Revision number `at` of `owner`, labelled with its hash."""
    metadata: Obj = {
        "name": name_of(owner, digested),
        "namespace": meta.namespace(owner),
        "labels": {**((owner["spec"]["template"].get("metadata") or {}).get("labels") or {}), label: digested},
        "ownerReferences": [reference_to(kind, owner)],
    }
    if meta.annotations(owner):
        metadata["annotations"] = meta.annotations(owner)
    head: Obj = {"apiVersion": CONTROLLERREVISIONS.api_version, "kind": CONTROLLERREVISIONS.kind, "metadata": metadata}
    # Its keys as Go sorts them: upstream's code knows a revision by the very bytes of its data.
    data = orjson.loads(orjson.dumps(data_of(owner), option=orjson.OPT_SORT_KEYS))
    return Create(CONTROLLERREVISIONS, {**head, "data": data, "revision": at})


def renumber(revision: Obj, at: int) -> Update:
    """It is the newest once more: somebody has gone back to it."""
    return Update(CONTROLLERREVISIONS, {**revision, "revision": at})


def surplus(unused: Sequence[Obj], excess: int) -> list[Delete]:
    """The oldest of those that nobody uses, as many as are too many."""
    return [Delete(CONTROLLERREVISIONS, each) for each in in_order(unused)[: max(0, excess)]]
