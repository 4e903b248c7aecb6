"""Which of several classes is the default one: shared by the plugins that fill in a class."""

from collections.abc import Iterable

from tiphys.machinery import times
from tiphys.machinery.tree import Obj


def default_class(classes: Iterable[Obj], annotations: Iterable[str]) -> str:
    """The newest of those marked as default, the first by name among equals; empty where there is none."""
    keys = tuple(annotations)
    marked = [each for each in classes if _is_marked(each, keys)]
    chosen = min(marked, key=_newest_first, default=None)
    return chosen["metadata"]["name"] if chosen is not None else ""


def _is_marked(each: Obj, keys: tuple[str, ...]) -> bool:
    annotations = each["metadata"].get("annotations") or {}
    return any(annotations.get(key) == "true" for key in keys)


def _newest_first(each: Obj) -> tuple[float, str]:
    return -times.parse(each["metadata"]["creationTimestamp"]), each["metadata"]["name"]
