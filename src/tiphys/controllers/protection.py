"""A finalizer that keeps an object, once it is deleted, for as long as somebody uses it."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.kind import Kind
from tiphys.controllers.controller import Caches
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Protection:
    kind: Kind
    finalizer: str

    def is_due(self, obj: Obj) -> bool:
        """To get it, or to lose it."""
        return meta.is_deleting(obj) == (self.finalizer in meta.finalizers(obj))

    def keys(self, _old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
        return (meta.key(new),) if new is not None and self.is_due(new) else ()

    def plan(self, obj: Obj, *, used: bool) -> Plan:
        """Whoever lives has it; whoever goes keeps it while it is used."""
        others = [each for each in meta.finalizers(obj) if each != self.finalizer]
        if not self.is_due(obj) or (used and meta.is_deleting(obj)):
            return NOTHING
        wanted = others if meta.is_deleting(obj) else [*others, self.finalizer]
        return Plan((Update(self.kind, {**obj, "metadata": {**obj["metadata"], "finalizers": wanted}}, tolerate=NOT_FOUND),))
