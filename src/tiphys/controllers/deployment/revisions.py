"""Which ReplicaSet is of the present template, what the others were, and what their annotations say of it."""

from collections.abc import Iterable

from tiphys.controllers import templates
from tiphys.controllers.deployment.scaling import DESIRED, MAX, by_age, max_surge, replicas
from tiphys.controllers.numbers import whole
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
_HISTORY_LENGTH = 2000

NOT_COPIED = frozenset(("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAX, ROLLBACK_TO))


def find_new(deployment: Obj, sets: Iterable[Obj]) -> Obj | None:
    """The oldest set with the Deployment's template."""
    template = deployment["spec"]["template"]
    return next((rs for rs in by_age(sets) if templates.same(rs["spec"]["template"], template)), None)


def revision(rs: Obj) -> int | None:
    """Zero where it has none; None where nobody can read it."""
    text = meta.annotations(rs).get(REVISION)
    return 0 if text is None else whole(text)


def newest_revision(sets: Iterable[Obj]) -> int:
    return max((number for rs in sets if (number := revision(rs)) is not None), default=0)


def last_revision(sets: Iterable[Obj]) -> int:
    """The one before the newest; zero if there is none."""
    numbers = sorted((number for rs in sets if (number := revision(rs)) is not None), reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def by_revision(sets: Iterable[Obj]) -> list[Obj]:
    return sorted(by_age(sets), key=lambda rs: revision(rs) or 0)


def annotated(deployment: Obj, rs: Obj | None, number: int) -> dict[str, str]:
    """The annotations that the newest set should have, `rs` being what it is so far."""
    present = dict(meta.annotations(rs)) if rs is not None else {}
    found = {**present, **{key: value for key, value in meta.annotations(deployment).items() if key not in NOT_COPIED}}
    text = present.get(REVISION)
    old = whole(text) if text else 0
    if old is None:
        return found
    if old < number:
        found[REVISION] = str(number)
        if text is not None:
            _remember(found, text)
    if rs is None:
        found.update(size_annotations(deployment))
    return found


def _remember(annotations: dict[str, str], text: str) -> None:
    """The set had this revision before: somebody has rolled back to it."""
    before = annotations.get(HISTORY, "")
    if not before:
        annotations[HISTORY] = text
        return
    numbers = [*before.split(","), text]
    while len(numbers) > 1 and len(",".join(numbers)) > _HISTORY_LENGTH:
        numbers.pop(0)
    annotations[HISTORY] = ",".join(numbers)


def size_annotations(deployment: Obj) -> dict[str, str]:
    wanted = replicas(deployment)
    return {DESIRED: str(wanted), MAX: str(wanted + max_surge(deployment))}
