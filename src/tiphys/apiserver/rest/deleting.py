"""What a DELETE does to an object: gone at once, marked and waiting, or nothing new. Core."""

from tiphys.api.kind import Kind
from tiphys.machinery import errors, meta, times, tree
from tiphys.machinery.fields import FieldError, invalid, not_supported
from tiphys.machinery.tree import Obj

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


def check_options(options: Obj) -> None:
    problems: list[FieldError] = []
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        problems.append(invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy not in (None, "Foreground", "Background", "Orphan"):
        problems.append(not_supported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil")))
    if options.get("dryRun") not in (None, [], ["All"]):
        problems.append(not_supported("dryRun", options["dryRun"], ("All",)))
    if problems:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", problems)


def check_preconditions(kind: Kind, old: Obj, options: Obj) -> None:
    wanted = options.get("preconditions") or {}
    metadata = old["metadata"]
    for field, said in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) not in (None, metadata.get(field)):
            found = metadata.get(field, "")
            if kind.strategy.spec_finalizers:
                told = f"Precondition failed: {said} in precondition: {wanted[field]}, {said} in object meta: {found}"
                raise errors.conflict(kind.group, kind.plural, metadata["name"], told)
            happened = "deleted and then recreated" if field == "uid" else "modified"
            told = (
                f"the {said} in the precondition ({wanted[field]}) does not match the {said} in record ({found}). "
                f"The object might have been {happened}"
            )
            raise errors.conflict(kind.group, kind.kind, metadata["name"], told)


def decide(kind: Kind, old: Obj, options: Obj, now: float) -> Obj | None:
    """None: remove it. `old` itself: it is already on its way. Else: the object marked for deletion."""
    if kind.prepare_delete is not None and not meta.is_deleting(old):
        return kind.prepare_delete(tree.copy(old), now)
    grace = _grace(kind, old, options)
    if grace is not None:
        if meta.is_deleting(old):
            shortened = _shorten(old, grace, options, now)
            if shortened is not None:
                return shortened
        else:
            return _mark(_with_policy(kind, old, options), grace, now) if grace > 0 or _finalizers(kind, old, options) else None
    elif meta.is_deleting(old) and old["metadata"].get("deletionGracePeriodSeconds"):
        return old
    new = _with_policy(kind, old, options)
    if kind.strategy.spec_finalizers:
        if meta.is_deleting(old) and (old.get("spec") or {}).get("finalizers"):
            return old
        if not meta.is_deleting(old):
            new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
            new["metadata"]["deletionTimestamp"] = times.rfc3339(now)
            return new
    if new["metadata"].get("finalizers"):
        return _mark(new, 0, now)
    return None


def farewell(kind: Kind, old: Obj, options: Obj, now: float) -> Obj:
    """What the answer to a deletion shows of an object that is gone now: one that could have waited is marked all the same."""
    if not kind.strategy.graceful:
        return old
    return _mark(_with_policy(kind, old, options), 0, now)


def _grace(kind: Kind, old: Obj, options: Obj) -> int | None:
    """Seconds to wait for somebody to confirm; None for kinds that nobody confirms."""
    if not kind.strategy.graceful:
        return None
    given = options.get("gracePeriodSeconds")
    spec = old.get("spec", {})
    seconds: int = given if given is not None else spec.get("terminationGracePeriodSeconds", 30)
    if seconds < 0:
        seconds = 1
    nobody_runs_it = not spec.get("nodeName") or old.get("status", {}).get("phase") in ("Failed", "Succeeded")
    return 0 if nobody_runs_it else seconds


def _shorten(old: Obj, grace: int, options: Obj, now: float) -> Obj | None:
    """A second delete may only shorten the first one's grace period; None: the wait is over."""
    current = old["metadata"].get("deletionGracePeriodSeconds") or 0
    if current == 0:
        return None
    if options.get("gracePeriodSeconds") is None or grace >= current:
        return old
    if grace == 0:
        return None
    began = times.parse(old["metadata"]["deletionTimestamp"]) - current
    until = began + grace
    if until < now:
        until, grace = now, 1
    metadata = {**old["metadata"], "deletionTimestamp": times.rfc3339(until), "deletionGracePeriodSeconds": grace}
    return {**old, "metadata": metadata}


def _finalizers(kind: Kind, old: Obj, options: Obj) -> list[str]:
    """The finalizers after the propagation policy has added or removed the garbage collector's."""
    present: list[str] = old["metadata"].get("finalizers") or []
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if orphan is not None:
        wanted = {ORPHAN} if orphan else set()
    elif policy is not None:
        wanted = {"Orphan": {ORPHAN}, "Foreground": {FOREGROUND}}.get(policy, set())
    else:
        wanted = {name for name in (ORPHAN, FOREGROUND) if name in present}
        if not wanted and kind.strategy.propagation == "orphan":
            wanted = {ORPHAN}
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    return kept + [name for name in (ORPHAN, FOREGROUND) if name in wanted]


def _with_policy(kind: Kind, old: Obj, options: Obj) -> Obj:
    finalizers = _finalizers(kind, old, options)
    metadata = dict(old["metadata"])
    if finalizers == (metadata.get("finalizers") or []):
        return {**old, "metadata": metadata}
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    return {**old, "metadata": metadata}


def _mark(new: Obj, grace: int, now: float) -> Obj:
    """`new` with its deletion noted; its metadata is already a copy."""
    metadata = new["metadata"]
    if "deletionTimestamp" not in metadata and metadata.get("generation"):
        metadata["generation"] += 1
    until = times.rfc3339(now + grace)
    if "deletionTimestamp" not in metadata or times.parse(metadata["deletionTimestamp"]) > now + grace:
        metadata["deletionTimestamp"] = until
    metadata["deletionGracePeriodSeconds"] = grace
    return new
