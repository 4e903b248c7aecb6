"""What a decision may ask for. Values only: the runner performs them, in order, and stops at the first that fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tiphys.api.kind import Kind
from tiphys.client.interface import PatchType
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Note:
    """An Event about an object. `{name}`, `{error}` in the message stand for the outcome of the write that it goes with."""

    about: Obj
    reason: str
    message: str
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    done: Note | None = None
    """Told when it went well."""
    failed: Note | None = None
    tolerate: frozenset[str] = frozenset()
    """Reasons (or causes) of a refusal that are as good as success."""


@dataclass(frozen=True, slots=True)
class Create(Write):
    kind: Kind
    obj: Obj
    times: int = 1
    """More than one needs generateName; they go out in batches that double while all goes well."""


@dataclass(frozen=True, slots=True)
class Update(Write):
    """Of the whole object (or of `subresource`), on condition that it is still at the resourceVersion in `obj`."""

    kind: Kind
    obj: Obj
    subresource: str = ""


def set_status(kind: Kind, obj: Obj, status: Obj) -> Update:
    return Update(kind, {**obj, "status": status}, "status")


@dataclass(frozen=True, slots=True)
class Patch(Write):
    kind: Kind
    obj: Obj
    """Only its name and namespace count; put uid or resourceVersion into the patch as a condition."""
    patch: Any
    patch_type: PatchType = "merge"
    subresource: str = ""
    manager: str = ""
    """Who applies; for patches of type "apply", which take what others hold."""


@dataclass(frozen=True, slots=True)
class Delete(Write):
    """On condition that it is still the same object (its uid). One that is gone already counts as deleted."""

    kind: Kind
    obj: Obj
    policy: Literal["", "Background", "Foreground", "Orphan"] = ""
    grace: int | None = None
    same_version: bool = False
    """Only if nobody has changed it meanwhile."""


@dataclass(frozen=True, slots=True)
class Adopt(Write):
    """`owner` becomes the controller of `obj`, if the server still knows it and it is not being deleted."""

    kind: Kind
    obj: Obj
    owner_kind: Kind
    owner: Obj
    finalizer: str = ""
    """That it gets, too."""


@dataclass(frozen=True, slots=True)
class Release(Write):
    """`owner` is no longer an owner of `obj`."""

    kind: Kind
    obj: Obj
    owner: Obj
    finalizer: str = ""
    """That it loses, too."""


@dataclass(frozen=True, slots=True)
class Emit(Write):
    note: Note


@dataclass(frozen=True, slots=True)
class Inquire(Write):
    """Run the controller's inquiry of this name, which may read and write more than a plan can say; its answer is what the
    next `observe` of the key finds. For what no cache holds: the contents of a namespace, the live state of an owner."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    writes: tuple[Write, ...] = ()
    again_in: float | None = None
    """Seconds until the key is looked at again, where the passing of time alone changes the decision."""
    retry: str = ""
    """Why the key should be retried with back-off, although nothing failed."""


NOTHING = Plan()


@dataclass(frozen=True, slots=True)
class Failure:
    """How the last plan of a key ended, where it did not end well."""

    write: Write
    error: ApiError | ConnectionError

    @property
    def reason(self) -> str:
        return self.error.reason if isinstance(self.error, ApiError) else "Unavailable"


def causes(error: ApiError) -> set[str]:
    """Its reason, and those of its causes."""
    listed = error.details.causes if error.details is not None else ()
    return {error.reason, *(str(each.get("reason", "")) for each in listed)}


NAMESPACE_TERMINATING = frozenset(("NamespaceTerminating",))
"""Creations in a namespace that goes away fail for good; that is not worth a retry."""
ALREADY_EXISTS = frozenset(("AlreadyExists",))
NOT_FOUND = frozenset(("NotFound",))
