"""What every object says about itself: names, owners, finalizers; and whether it may say so."""

from collections.abc import Callable, Iterator, Sequence

from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, child, index, invalid, required, too_long
from tiphys.machinery.fields import forbidden as forbidden_field
from tiphys.machinery.tree import Obj, ReadOnly

FINALIZER_ORPHAN = "orphan"
FINALIZER_FOREGROUND = "foregroundDeletion"
STANDARD_FINALIZERS = frozenset(("kubernetes", FINALIZER_ORPHAN, FINALIZER_FOREGROUND))
"""Those that need no domain before their name."""

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Of generated names: no vowels, no digits that look like letters."""

_GENERATED_BASE_MAX = 58
_SUFFIX_LENGTH = 5
_SUBRESOURCE_MAX = 256

NameCheck = Callable[[str], list[str]]


def name(obj: ReadOnly) -> str:
    found: str = obj["metadata"].get("name", "")
    return found


def namespace(obj: ReadOnly) -> str:
    """Empty for a cluster-wide object."""
    found: str = obj["metadata"].get("namespace", "")
    return found


def uid(obj: ReadOnly) -> str:
    found: str = obj["metadata"].get("uid", "")
    return found


def key(obj: ReadOnly) -> str:
    """`namespace/name`, or `name` of a cluster-wide object: what queues carry."""
    meta = obj["metadata"]
    space = meta.get("namespace")
    return f"{space}/{meta['name']}" if space else str(meta["name"])


def labels(obj: ReadOnly) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("labels") or {}
    return found


def annotations(obj: ReadOnly) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def finalizers(obj: ReadOnly) -> list[str]:
    found: list[str] = obj["metadata"].get("finalizers") or []
    return found


def resource_version(obj: ReadOnly) -> str:
    found: str = obj["metadata"].get("resourceVersion", "")
    return found


def generation(obj: ReadOnly) -> int:
    found: int = obj["metadata"].get("generation", 0)
    return found


def is_deleting(obj: ReadOnly) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def owners(obj: ReadOnly) -> list[Obj]:
    found: list[Obj] = obj["metadata"].get("ownerReferences") or []
    return found


def controller_of(obj: ReadOnly) -> Obj | None:
    """The owner reference of its controller."""
    for each in obj["metadata"].get("ownerReferences") or ():
        if each.get("controller"):
            reference: Obj = each
            return reference
    return None


def is_controlled_by(obj: ReadOnly, owner: ReadOnly) -> bool:
    found = controller_of(obj)
    return found is not None and found.get("uid") == owner["metadata"].get("uid")


def owner_reference(owner: ReadOnly, *, controller: bool = True, block_deletion: bool = True) -> Obj:
    """To `owner`, which must know its apiVersion and kind."""
    reference: Obj = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", ""),
    }
    if controller:
        reference["controller"] = True
    if block_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def group_of(api_version: str) -> str:
    """`apps` of `apps/v1`; empty for the core group."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


def generate_name(base: str, choose: Callable[[Sequence[str]], str]) -> str:
    """`base` with five characters after it, so cut that it is a DNS label; `choose` takes one of those it is given."""
    return base[:_GENERATED_BASE_MAX] + "".join(choose(SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))


def safe_encode(text: str) -> str:
    """A hash as it may stand in a name: the same letters as generated names have."""
    return "".join(SUFFIX_ALPHABET[ord(each) % len(SUFFIX_ALPHABET)] for each in text)


def as_prefix(base: str) -> str:
    """A generateName with a good ending instead of a dash, so that the check for names can judge it."""
    return base[:-2] + "a" if len(base) > 1 and base.endswith("-") else base


def validate_meta(obj: ReadOnly, namespaced: bool, name_check: NameCheck | None, at: str = "metadata") -> Iterator[FieldError]:
    """Of a new object whose name has been generated; without a check the name must be a DNS subdomain."""
    meta = obj["metadata"]
    yield from _validate_names(meta, namespaced, name_check or validators.dns1123_subdomain, at)
    yield from validators.at_least_zero(meta.get("generation"), child(at, "generation"))
    if "labels" in meta:
        yield from validators.labels(meta["labels"], child(at, "labels"))
    if "annotations" in meta:
        yield from validators.annotations(meta["annotations"], child(at, "annotations"))
    if "ownerReferences" in meta:
        yield from validate_owners(meta["ownerReferences"], child(at, "ownerReferences"))
    if "finalizers" in meta:
        yield from validate_finalizers(meta["finalizers"], child(at, "finalizers"))
    if "managedFields" in meta:
        yield from _validate_managed_fields(meta["managedFields"], child(at, "managedFields"))


def _validate_names(meta: ReadOnly, namespaced: bool, name_check: NameCheck, at: str) -> Iterator[FieldError]:
    base = meta.get("generateName")
    if base:
        in_urls = name_check is validators.path_segment
        problems = validators.path_segment_prefix(base) if in_urls else name_check(as_prefix(base))
        for problem in problems:
            yield invalid(child(at, "generateName"), base, problem)
    own = meta.get("name")
    if not own:
        yield required(child(at, "name"), "name or generateName is required")
    else:
        for problem in name_check(own):
            yield invalid(child(at, "name"), own, problem)
    space: str = meta.get("namespace") or ""
    if namespaced and not space:
        yield required(child(at, "namespace"))
    elif namespaced:
        for problem in validators.dns1123_label(space):
            yield invalid(child(at, "namespace"), space, problem)
    elif space:
        yield forbidden_field(child(at, "namespace"), "not allowed on this type")


_NEVER_CHANGE = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def validate_meta_update(new: ReadOnly, old: ReadOnly, at: str = "metadata") -> Iterator[FieldError]:
    """Of an object that replaces another."""
    meta, before = new["metadata"], old["metadata"]
    if before.get("deletionTimestamp") is not None:
        had = before.get("finalizers") or []
        yield from validators.no_new_finalizers(meta.get("finalizers") or [], had, child(at, "finalizers"))
    if not meta.get("resourceVersion"):
        yield invalid(child(at, "resourceVersion"), "", "must be specified for an update")
    if meta.get("generation", 0) < before.get("generation", 0):
        yield invalid(child(at, "generation"), meta.get("generation", 0), "must not be decremented")
    for field, absent in _NEVER_CHANGE:
        if meta.get(field, absent) != before.get(field, absent):
            yield invalid(child(at, field), meta.get(field, absent), validators.IMMUTABLE)
    if "labels" in meta:
        yield from validators.labels(meta["labels"], child(at, "labels"))
    if "annotations" in meta:
        yield from validators.annotations(meta["annotations"], child(at, "annotations"))
    if "ownerReferences" in meta:
        yield from validate_owners(meta["ownerReferences"], child(at, "ownerReferences"))
    if "managedFields" in meta:
        yield from _validate_managed_fields(meta["managedFields"], child(at, "managedFields"))


def validate_owners(references: list[Obj], at: str) -> Iterator[FieldError]:
    controller = ""
    for each in references:
        yield from _validate_owner(each, at)
        if not each.get("controller"):
            continue
        told = f"{each.get('kind', '')}/{each.get('name', '')}"
        if controller:
            problem = (
                f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {told}'
            )
            yield invalid(at, references, problem)
        else:
            controller = told


def _validate_owner(reference: Obj, at: str) -> Iterator[FieldError]:
    api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    # An apiVersion with more than one slash has neither group nor version.
    version = "" if api_version.count("/") > 1 else api_version.rpartition("/")[2]
    if not version:
        yield invalid(child(at, "apiVersion"), api_version, "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not reference.get(field):
            yield invalid(child(at, field), reference.get(field, ""), "must not be empty")
    if api_version == "v1" and kind == "Event":
        yield invalid(at, reference, "/v1, Kind=Event is disallowed from being an owner")


def validate_finalizers(values: list[str], at: str) -> Iterator[FieldError]:
    for each in values:
        for problem in validators.qualified_name(each):
            yield invalid(at, each, problem)
    if FINALIZER_ORPHAN in values and FINALIZER_FOREGROUND in values:
        yield invalid(at, values, f"finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set")


def _validate_managed_fields(entries: list[Obj], at: str) -> Iterator[FieldError]:
    for position, each in enumerate(entries):
        here = index(at, position)
        if each.get("operation", "") not in ("Apply", "Update"):
            yield invalid(child(here, "operation"), each.get("operation", ""), "must be `Apply` or `Update`")
        if each.get("fieldsType", "") not in ("", "FieldsV1"):
            yield invalid(child(here, "fieldsType"), each["fieldsType"], "must be `FieldsV1`")
        yield from validators.field_manager(each.get("manager", ""), child(here, "manager"))
        if validators.size(each.get("subresource", "")) > _SUBRESOURCE_MAX:
            yield too_long(child(here, "subresource"), _SUBRESOURCE_MAX)
