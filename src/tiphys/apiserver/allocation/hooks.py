"""Further writes that must happen together with the write of an object, in one transaction."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiphys.machinery.tree import Obj
from tiphys.store.interface import Op

if TYPE_CHECKING:
    from tiphys.apiserver.call import Call


@dataclass(frozen=True, slots=True)
class Hook:
    """Of one kind. Each may change the new object in place, and returns what else to write; guards that fail start over."""

    creating: "Callable[[Call, Obj], Awaitable[Sequence[Op]]]"
    updating: "Callable[[Call, Obj, Obj], Awaitable[Sequence[Op]]]"
    deleting: "Callable[[Call, Obj], Awaitable[Sequence[Op]]]"


class WriteHooks:
    def __init__(self, hooks: Mapping[tuple[str, str], Hook]) -> None:
        """By (group, plural)."""
        self._hooks = hooks

    def _of(self, call: "Call") -> Hook | None:
        return self._hooks.get((call.served.kind.group, call.served.kind.plural)) if self._hooks else None

    async def creating(self, call: "Call", obj: Obj) -> Sequence[Op]:
        hook = self._of(call)
        return await hook.creating(call, obj) if hook is not None else ()

    async def updating(self, call: "Call", new: Obj, old: Obj) -> Sequence[Op]:
        hook = self._of(call)
        return await hook.updating(call, new, old) if hook is not None else ()

    async def deleting(self, call: "Call", old: Obj) -> Sequence[Op]:
        hook = self._of(call)
        return await hook.deleting(call, old) if hook is not None else ()
