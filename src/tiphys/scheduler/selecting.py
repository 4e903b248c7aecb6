"""Label selectors of stored objects. An object that was stored long ago may hold one that is not sound by today's rules."""

from tiphys.machinery import selectors
from tiphys.machinery.selectors import NOTHING, Selector
from tiphys.machinery.tree import Obj


def selector_of(tree: Obj | None) -> Selector:
    """An unsound selector selects nothing: one odd object must not stop the scheduling of all others."""
    try:
        return selectors.from_tree(tree)
    except ValueError:
        return NOTHING
