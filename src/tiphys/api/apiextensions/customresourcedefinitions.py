"""CustomResourceDefinition: a kind described at run time."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from tiphys.api.admissionregistration.client_config import default_client_config
from tiphys.api.apiextensions.conditions import with_condition
from tiphys.api.apiextensions.formats import unknown_formats
from tiphys.api.apiextensions.specs import validate_names, validate_spec
from tiphys.api.kind import SPEC, Kind, Strategy
from tiphys.api.rbac.rules import CREATED_AT
from tiphys.machinery import times
from tiphys.machinery.fields import FieldError, index, invalid, quote, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_subdomain, immutable

GROUP = "apiextensions.k8s.io"
APPROVED = "api-approved.kubernetes.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that holds a definition until the objects that it describes are gone."""

_PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
_APPROVAL_AT = f"metadata.annotations[{APPROVED}]"
_APPROVAL_MORE = "see https://github.com/kubernetes/enhancements/pull/1111"


def default(definition: Obj) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = kind + "List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    default_client_config(get(spec, ("conversion", "webhook", "clientConfig"), {}))


def prepare_create(definition: Obj) -> None:
    stored = _storage_versions(definition)[:1]
    definition["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def prepare_update(new: Obj, old: Obj) -> None:
    """The status is the server's; a new storage version joins those of which objects may be stored."""
    status = old.get("status") or {}
    stored = status.get("storedVersions") or []
    added = [version for version in _storage_versions(new)[:1] if version not in stored]
    new["status"] = {**status, "storedVersions": [*stored, *added]}


def prepare_delete(definition: Obj, now: float) -> Obj:
    """Its objects go before it does."""
    metadata = definition["metadata"]
    metadata["deletionTimestamp"] = times.rfc3339(now)
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = finalizers if CLEANUP in finalizers else [*finalizers, CLEANUP]
    status = definition.get("status") or {}
    definition["status"] = with_condition(status, "Terminating", "True", "InstanceDeletionPending", _PENDING, now)
    return definition


def _storage_versions(definition: Obj) -> list[str]:
    versions = get(definition, ("spec", "versions"), ())
    return [version.get("name", "") for version in versions if version.get("storage")]


def validate(definition: Obj) -> Iterator[FieldError]:
    spec = definition.get("spec") or {}
    yield from validate_spec(spec)
    yield from _validate_status(definition)
    yield from _validate_stored_versions(definition)
    if spec.get("preserveUnknownFields"):
        told = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, told)


def validate_create(definition: Obj) -> Iterator[FieldError]:
    name = definition["metadata"].get("name", "")
    if name != f"{get(definition, ('spec', 'names', 'plural'), '')}.{get(definition, ('spec', 'group'), '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _validate_approval(definition, None)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if _is_established(old):
        for at in ("scope", "names.kind"):
            yield from _immutable(new, old, at)
    for at in ("group", "names.plural"):
        yield from _immutable(new, old, at)
    yield from _validate_approval(new, old)


def _validate_approval(new: Obj, old: Obj | None) -> Iterator[FieldError]:
    """Groups of the community need somebody's approval, named in an annotation. Only a change of that state is judged."""
    if not is_community_group(get(new, ("spec", "group"), "")):
        return
    annotation = get(new, ("metadata", "annotations", APPROVED), "")
    state = approval(annotation)
    if old is not None and approval(get(old, ("metadata", "annotations", APPROVED), "")) == state:
        return
    told = f"protected groups must have approval annotation {quote(APPROVED)}"
    if state == "missing":
        yield required(_APPROVAL_AT, f"{told}, {_APPROVAL_MORE}")
    elif state == "invalid":
        told += ' with either a URL or a reason starting with "unapproved"'
        yield invalid(_APPROVAL_AT, annotation, f"{told}, {_APPROVAL_MORE}")


def is_community_group(group: str) -> bool:
    return any(group == each or group.endswith("." + each) for each in ("k8s.io", "kubernetes.io"))


def approval(annotation: str) -> str:
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    parts = urlsplit(annotation)
    return "approved" if parts.scheme and parts.netloc else "invalid"


def _immutable(new: Obj, old: Obj, at: str) -> Iterator[FieldError]:
    steps = ("spec", *at.split("."))
    return immutable(get(new, steps, ""), get(old, steps, ""), f"spec.{at}")


def _is_established(definition: Obj) -> bool:
    conditions = get(definition, ("status", "conditions"), ())
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _validate_status(definition: Obj) -> Iterator[FieldError]:
    return validate_names(get(definition, ("status", "acceptedNames"), {}), "status.acceptedNames")


def _validate_stored_versions(definition: Obj) -> Iterator[FieldError]:
    at = "status.storedVersions"
    stored = get(definition, ("status", "storedVersions"), [])
    if not stored:
        yield invalid(at, None, "must have at least one stored version")
        return
    versions = {version.get("name", "") for version in get(definition, ("spec", "versions"), ())}
    for version in _storage_versions(definition):
        if version not in stored:
            yield invalid(at, stored, "must have the storage version " + version)
    for position, version in enumerate(stored):
        if version not in versions:
            told = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions "
                f"until a storage migration ensures no data remains persisted in {version} and removes {version} from "
                "status.storedVersions"
            )
            yield invalid(index(at, position), version, told)


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    return _validate_status(new)


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    known = set(unknown_formats(old)) if old is not None else set()
    return [f"unrecognized format {quote(each)}" for each in unknown_formats(new) if each not in known]


CUSTOM_RESOURCE_DEFINITIONS = Kind(
    group=GROUP,
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    schema="io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    namespaced=False,
    short=("crd", "crds"),
    categories=("api-extensions",),
    storage_prefix="apiextensions.k8s.io/customresourcedefinitions",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_delete=prepare_delete,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    name=dns1123_subdomain,
    strategy=Strategy(status=True, generation_of=SPEC, unconditional_update=False),
    columns=(CREATED_AT,),
)
