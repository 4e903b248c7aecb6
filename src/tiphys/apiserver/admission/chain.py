"""The admission chain: mutating plugins in order, then (after validation) validating ones.

A plugin is a class with a `name`, the operations and resources it handles, and `admit` (may change `attributes.obj` in place),
`validate` (must not), or both. It refuses by raising ApiError. A plugin that may have to wait is a coroutine; one that never
does is a plain function, and costs a write no more than that.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from tiphys.api.kind import Kind
from tiphys.apiserver.authn.user import User
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Op

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
Resources = frozenset[tuple[str, str]]
"""Of (group, plural)."""

CREATE: frozenset[Operation] = frozenset(("CREATE",))
UPDATE: frozenset[Operation] = frozenset(("UPDATE",))
CREATE_UPDATE: frozenset[Operation] = frozenset(("CREATE", "UPDATE"))
WRITES: frozenset[Operation] = frozenset(("CREATE", "UPDATE", "DELETE"))
EVERYTHING: frozenset[Operation] = frozenset(("CREATE", "UPDATE", "DELETE", "CONNECT"))

PODS: Resources = frozenset((("", "pods"),))


@dataclass(slots=True)
class Attributes:
    """What a plugin may know about a write."""

    operation: Operation
    kind: Kind
    namespace: str
    name: str
    user: User
    now: float
    subresource: str = ""
    obj: Obj | None = None
    """The new object; None on DELETE. Mutating plugins change it in place."""
    old: Obj | None = None
    """Shared and read-only."""
    options: Obj = field(default_factory=dict)
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    extra: list[Op] = field(default_factory=list)
    """Further writes that a plugin wants done together with this one, or not at all."""
    annotations: dict[str, str] = field(default_factory=dict)
    """For the audit log: what was decided and why, by qualified name."""

    def concerns(self, group: str, plural: str) -> bool:
        """Whether it is about a resource itself, not one of its subresources."""
        return not self.subresource and self.kind.plural == plural and self.kind.group == group

    @property
    def name_told(self) -> str:
        return self.name or (self.obj or {}).get("metadata", {}).get("generateName", "") or "Unknown"

    def forbidden(self, why: str) -> ApiError:
        """403 in upstream's form for a refused write."""
        return errors.forbidden(self.kind.group, self.kind.plural, self.name_told, why)


Step = Callable[[Attributes], Awaitable[None] | None]


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def operations(self) -> frozenset[Operation]: ...

    @property
    def resources(self) -> Resources | None:
        """What it is asked about, with all subresources; None: everything."""
        ...


@runtime_checkable
class Mutating(_Named, Protocol):
    def admit(self, attributes: Attributes) -> Awaitable[None] | None: ...


@runtime_checkable
class Validating(_Named, Protocol):
    def validate(self, attributes: Attributes) -> Awaitable[None] | None: ...


Plugin = Mutating | Validating


class Chain:
    """Which plugins see a write is sorted out once for each operation and resource."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        self._steps: dict[tuple[Operation, str, str], tuple[tuple[Step, ...], tuple[Step, ...]]] = {}

    async def admit(self, attributes: Attributes) -> None:
        for step in self._sorted_out(attributes)[0]:
            waiting = step(attributes)
            if waiting is not None:
                await waiting

    async def validate(self, attributes: Attributes) -> None:
        for step in self._sorted_out(attributes)[1]:
            waiting = step(attributes)
            if waiting is not None:
                await waiting

    def _sorted_out(self, attributes: Attributes) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        kind = attributes.kind
        key = (attributes.operation, kind.group, kind.plural)
        steps = self._steps.get(key)
        if steps is None:
            asked = [each for each in self.plugins if _is_asked(each, key)]
            mutating = tuple(each.admit for each in asked if isinstance(each, Mutating))
            validating = tuple(each.validate for each in asked if isinstance(each, Validating))
            steps = self._steps[key] = mutating, validating
        return steps


def _is_asked(plugin: Plugin, key: tuple[Operation, str, str]) -> bool:
    operation, group, plural = key
    return operation in plugin.operations and (plugin.resources is None or (group, plural) in plugin.resources)
