"""Whose is it: owners adopt orphans that they select, and release what they no longer select."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiphys.api.kind import Kind
from tiphys.client.cache import Cache
from tiphys.controllers.plan import NOT_FOUND, Adopt, Release, Write
from tiphys.machinery import meta
from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj


def candidates(cache: Cache, owner: Obj, selector: Selector) -> tuple[Obj, ...]:
    """What `owner` controls, and the orphans that it selects."""
    mine = cache.owned_by(owner)
    space = meta.namespace(owner)
    orphans = [each for each in cache.by("orphan", space) if selector.matches(meta.labels(each))]
    return (*(each for each in mine if meta.namespace(each) == space), *orphans)


@dataclass(frozen=True, slots=True)
class Claimed:
    mine: tuple[Obj, ...]
    """Those that are adopted by `writes` among them."""
    writes: tuple[Write, ...]


def claim(
    kind: Kind,
    objects: Iterable[Obj],
    owner_kind: Kind,
    owner: Obj,
    selector: Selector,
    belongs: Callable[[Obj], bool] = lambda _: True,
    finalizer: str = "",
) -> Claimed:
    """An owner that is being deleted neither adopts nor releases. `belongs`: what must hold beside the selector.
    `finalizer`: what is adopted gets it, what is released loses it."""
    mine: list[Obj] = []
    writes: list[Write] = []
    leaving = meta.is_deleting(owner)
    for each in objects:
        selected = selector.matches(meta.labels(each)) and belongs(each)
        if meta.is_controlled_by(each, owner):
            if selected:
                mine.append(each)
            elif not leaving:
                writes.append(Release(kind, each, owner, finalizer))
        elif selected and not leaving and not meta.is_deleting(each):
            mine.append(each)
            writes.append(Adopt(kind, each, owner_kind, owner, finalizer, tolerate=NOT_FOUND))
    return Claimed(tuple(mine), tuple(writes))
