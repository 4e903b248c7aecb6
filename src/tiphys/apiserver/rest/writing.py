"""What a write does to an object between decoding and the store, for any kind. Core: no store, no clock, no chance.

The order (create):  system metadata -> managed fields -> mutating admission -> `prepare_new` -> `check_new` -> validating
admission -> store. Update and patch go through `prepare_changed` and `check_changed` in the same places.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tiphys.api.kind import Kind, Strategy
from tiphys.machinery import errors, meta, times, tree, validators
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import FieldError, invalid, quote
from tiphys.machinery.tree import Obj

_SYSTEM = ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "uid", "creationTimestamp")

Check = Callable[[Obj, Obj], Iterable[FieldError]]


def fill_system_metadata(obj: Obj, now: float, uid: str) -> None:
    """What only the server may say about a new object."""
    metadata = obj["metadata"]
    for field in _SYSTEM:
        metadata.pop(field, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = times.rfc3339(now)


def prepare_new(kind: Kind, obj: Obj) -> None:
    """Status is the controllers' to write, generations start at 1."""
    strategy = kind.strategy
    if strategy.status and not strategy.status_on_create:
        obj.pop("status", None)
    if strategy.generation_of:
        obj["metadata"]["generation"] = 1
    kind.prepare_create(obj)


def check_new(kind: Kind, obj: Obj, warnings: list[str]) -> None:
    of_metadata = meta.validate_meta(obj, kind.namespaced, kind.name)
    of_the_rest = [*kind.validate(obj), *kind.validate_create(obj)]
    if kind.metadata_last:
        problems = of_the_rest or list(of_metadata)
    else:
        problems = [*of_metadata, *_validate_finalizers(kind, obj), *of_the_rest]
    if problems:
        raise _invalid(kind, obj, problems)
    warnings.extend(kind.warnings(obj, None))


def _invalid(kind: Kind, obj: Obj, problems: list[FieldError]) -> ApiError:
    """Told of the group that the kind is stored in: what is checked is what will be stored."""
    return errors.invalid(kind.stored.group, kind.kind, obj["metadata"].get("name", ""), problems)


_OTHER_SERVERS = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))
"""Groups that upstream serves from elsewhere, without the checks that its own kinds share."""


def _validate_finalizers(kind: Kind, obj: Obj) -> Iterator[FieldError]:
    """Finalizers of built-in kinds are either the well-known ones or belong to somebody's domain."""
    finalizers = obj["metadata"].get("finalizers")
    if not finalizers or kind.custom or kind.group in _OTHER_SERVERS:
        return
    for position, each in enumerate(finalizers):
        if "/" not in each and each not in meta.STANDARD_FINALIZERS:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{position}]", each, told)


def keep_identity(new: Obj, old: Obj) -> None:
    """What an update cannot change is taken from the stored object."""
    was, now = old["metadata"], new["metadata"]
    now.pop("selfLink", None)
    now.setdefault("uid", was.get("uid", ""))
    for field in ("creationTimestamp", "deletionTimestamp"):
        if field in was:
            now[field] = was[field]
    if "generation" in was:
        now["generation"] = was["generation"]
    else:
        now.pop("generation", None)
    if "deletionGracePeriodSeconds" in was:
        now.setdefault("deletionGracePeriodSeconds", was["deletionGracePeriodSeconds"])


def prepare_changed(kind: Kind, new: Obj, old: Obj, subresource: str) -> None:
    """After this, `new` differs from `old` only in what this path may change."""
    strategy = kind.strategy
    if subresource in kind.parts:
        kind.parts[subresource].prepare(new, old)
    elif subresource == "status":
        _only_status(strategy, new, old)
        kind.prepare_status(new, old)
    else:
        if strategy.status:
            _keep(new, old, "status")
        kind.prepare_update(new, old)
    keep_identity(new, old)
    if subresource != "status" and strategy.generation_of and _differs(strategy, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _only_status(strategy: Strategy, new: Obj, old: Obj) -> None:
    for field in tuple(new):
        if field not in ("status", "metadata") and field not in old:
            del new[field]
    for field, value in old.items():
        if field not in ("status", "metadata"):
            new[field] = value
    if strategy.status_keeps_metadata:
        metadata = dict(old["metadata"])
        for field in ("resourceVersion", "managedFields"):
            if field in new["metadata"]:
                metadata[field] = new["metadata"][field]
            else:
                metadata.pop(field, None)
        new["metadata"] = metadata


def _keep(new: Obj, old: Obj, field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _differs(strategy: Strategy, new: Obj, old: Obj) -> bool:
    return any(_below(new, path) != _below(old, path) for path in strategy.generation_of)


def _below(obj: Obj, path: tree.Path) -> Any:
    return tree.get(obj, path) if path else {name: value for name, value in obj.items() if name != "metadata"}


def check_changed(kind: Kind, new: Obj, old: Obj, subresource: str, warnings: list[str]) -> None:
    problems = [*meta.validate_meta(new, kind.namespaced, validators.path_segment), *meta.validate_meta_update(new, old)]
    if problems or new["metadata"].get("finalizers"):
        # What all kinds share is checked for all of them, and then again by most of them.
        problems.extend(meta.validate_meta_update(new, old))
        problems.extend(_validate_finalizers(kind, new))
    if subresource in kind.parts:
        problems.extend(kind.parts[subresource].validate(new, old))
    elif subresource == "status":
        problems.extend(kind.validate_status(new, old))
    else:
        problems.extend(kind.validate(new))
        problems.extend(kind.validate_update(new, old))
    if problems:
        raise _invalid(kind, new, problems)
    if not subresource:
        warnings.extend(kind.warnings(new, old))


def check_uid(kind: Kind, new: Obj, old: Obj | None, name_in_store: str) -> None:
    """A uid in an update says which object is meant; `old` is what is there."""
    uid = new["metadata"].get("uid", "")
    current = old["metadata"].get("uid", "") if old is not None else ""
    if uid and uid != current:
        raise _precondition_failed(kind, name_in_store, "UID", uid, current)


def check_exact_version(kind: Kind, new: Obj, old: Obj, name_in_store: str) -> None:
    """For writes that are not updates of the whole object: a version that they name is a condition like a uid."""
    version, current = new["metadata"].get("resourceVersion", ""), old["metadata"].get("resourceVersion", "")
    if version and version != current:
        raise _precondition_failed(kind, name_in_store, "ResourceVersion", version, current)


def _precondition_failed(kind: Kind, name_in_store: str, what: str, wanted: str, found: str) -> ApiError:
    told = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{kind.prefix}/{name_in_store}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    )
    return errors.conflict(kind.group, kind.plural, name_in_store.rpartition("/")[2], told)


def check_resource_version(kind: Kind, new: Obj, old: Obj) -> None:
    """Optimistic locking: the version that the client read must still be the stored one."""
    sent = new["metadata"].get("resourceVersion", "")
    name = old["metadata"].get("name", "")
    if sent in ("", "0"):
        if not kind.strategy.unconditional_update:
            problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(kind.group, kind.plural, name, [problem])
    elif sent != old["metadata"]["resourceVersion"]:
        if not (sent.isascii() and sent.isdecimal()):
            raise ApiError(500, "", f"strconv.ParseUint: parsing {quote(sent)}: invalid syntax")
        if int(sent) != int(old["metadata"]["resourceVersion"]):
            raise errors.conflict(kind.group, kind.plural, name)


def finished_deleting(kind: Kind, new: Obj, old: Obj) -> bool:
    """An update that takes the last finalizer off an object whose deletion was asked for completes the deletion."""
    if "deletionTimestamp" not in old["metadata"] or new["metadata"].get("finalizers"):
        return False
    if kind.strategy.spec_finalizers and (new.get("spec") or {}).get("finalizers"):
        return False
    return not old["metadata"].get("deletionGracePeriodSeconds")


_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def unique_owners(obj: Obj, warnings: list[str], *, admitted: bool = False) -> None:
    """Owner references that repeat one another are stored once."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Obj] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if repeated:
        obj["metadata"]["ownerReferences"] = kept
        when = " after mutating admission happens" if admitted else ""
        warnings.append(_REPEATED_OWNERS.format(when=when, uids=", ".join(repeated)))
