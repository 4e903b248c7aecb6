"""Times that nobody has set: where upstream's types hold a time itself, and no pointer to one, its programs write null."""

from collections.abc import Iterable, Sequence

from tiphys.machinery.tree import Obj

CONDITION = ("lastTransitionTime",)
PROBED = ("lastProbeTime", "lastTransitionTime")


def show(objects: Iterable[Obj] | None, times: Sequence[str]) -> None:
    for each in objects or ():
        for name in times:
            each.setdefault(name, None)
