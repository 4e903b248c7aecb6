"""From a CustomResourceDefinition to the kinds that it describes, one for each version that is served. Core."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tiphys.api.apiextensions.conditions import is_true
from tiphys.api.kind import ALL_BUT_METADATA, Conversion, Kind, Problems, Scale, Strategy, Verb
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.crd.columns import columns, text_of
from tiphys.apiserver.discovery import version_order
from tiphys.machinery import decode, json_path, tree
from tiphys.machinery.fields import FieldError, invalid, quote
from tiphys.machinery.meta import STANDARD_FINALIZERS
from tiphys.machinery.patch.go import go_text, go_type
from tiphys.machinery.schema import Node, Schemas
from tiphys.machinery.structural.compiling import compile_schema
from tiphys.machinery.structural.defaulting import defaulted
from tiphys.machinery.structural.embedded import validate_embedded
from tiphys.machinery.structural.lists import validate_lists
from tiphys.machinery.structural.numbers import with_plain_numbers
from tiphys.machinery.structural.values import ABSENT, validate_values
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import qualified_name

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_VERBS: tuple[Verb, ...] = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which upstream tells them."""
_MOST_REPLICAS = 2**31 - 1
_LIKE_A_DOMAIN = (
    "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
)
_PLAIN_WORD = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"


def model_name(group: str, version: str, kind: str) -> str:
    """How OpenAPI calls it: `com.example.stable.v1.CronTab` of stable.example.com."""
    return ".".join((*reversed(group.split(".")), version, kind))


def kinds_of(definition: Obj, schemas: Schemas, *, unserved: bool = False) -> list[Served]:
    """None before its names are accepted. Several versions share the storage of one of them.

    `unserved`: those versions, too, that nobody is shown; for cleaning up behind a definition.
    """
    names = get(definition, ("status", "acceptedNames"), {})
    if not is_true(definition, "Established") or not names.get("plural"):
        return []
    versions: dict[str, Obj] = {each["name"]: each for each in definition["spec"]["versions"]}
    metadata = schemas.node(OBJECT_META)
    nodes = {name: compile_schema(get(each, ("schema", "openAPIV3Schema")), metadata) for name, each in versions.items()}
    storage = next((name for name, each in versions.items() if each.get("storage")), next(iter(versions)))
    stored = _kind(definition, versions[storage], nodes, storage, None)
    found = []
    for name, version in versions.items():
        if unserved or version.get("served"):
            kind = stored if name == storage else _kind(definition, version, nodes, storage, stored)
            found.append(Served(kind, nodes[name]))
    return found


def _kind(definition: Obj, version: Obj, nodes: Mapping[str, Node], storage: str, stored: Kind | None) -> Kind:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, name = spec["group"], version["name"]
    parts = version.get("subresources") or {}
    scale = _scale(parts.get("scale"))
    checks = _Checks(version, nodes[name], scale)
    selectable = [each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()]
    return Kind(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        schema=model_name(group, name, names["kind"]),
        custom=True,
        closing=is_true(definition, "Terminating"),
        namespaced=spec.get("scope") == "Namespaced",
        singular=names.get("singular", ""),
        list_name=names.get("listKind", ""),
        short=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        storage_prefix=f"{group}/{names['plural']}",
        stored_as=stored,
        conversion=Conversion(
            partial(_to_be_stored, f"{group}/{storage}", nodes), partial(_as_shown, f"{group}/{name}", nodes)
        ),
        default=partial(_default, nodes[name]),
        validate_create=checks.created,
        validate_update=checks.updated,
        validate_status=checks.status_updated,
        warnings=_warnings,
        strategy=Strategy(
            status="status" in parts,
            status_keeps_metadata=True,
            generation_of=ALL_BUT_METADATA,
            unconditional_update=False,
        ),
        scale=scale,
        selectable=tuple(selectable),
        field_of={each: partial(_field, f".{each}") for each in selectable},
        verbs=_VERBS,
        columns=columns(version),
        deprecated=_deprecation(spec, names, version),
    )


def _scale(paths: Obj | None) -> Scale | None:
    if paths is None:
        return None
    wanted = (paths["specReplicasPath"], paths["statusReplicasPath"], paths.get("labelSelectorPath") or "")
    return Scale(*(each.removeprefix(".") for each in wanted))


def _default(node: Node, obj: Obj) -> None:
    new = defaulted(obj, node)
    if new is not obj:
        obj.update(new)


def _version_of(obj: Obj) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[2]


def _in_version(api_version: str, nodes: Mapping[str, Node], obj: Obj) -> Obj:
    """The object in another version. Conversion of custom resources changes nothing but the version, and drops what that one
    does not know."""
    if obj.get("apiVersion") == api_version:
        return obj
    node = nodes[api_version.rpartition("/")[2]]
    moved: Obj = decode.prune({**obj, "apiVersion": api_version}, node, resource=True, lenient=True)
    return moved


def _to_be_stored(api_version: str, nodes: Mapping[str, Node], obj: Obj) -> Obj:
    stored: Obj = with_plain_numbers(_in_version(api_version, nodes, obj))
    return stored


def _as_shown(api_version: str, nodes: Mapping[str, Node], stored: Obj) -> Obj:
    """What was stored under an older definition is shown as if it had been written today; the same object if that is so."""
    node = nodes.get(_version_of(stored))
    obj = stored if node is None else defaulted(decode.prune(stored, node, resource=True, lenient=True), node)
    return _in_version(api_version, nodes, obj)


def _field(path: str, obj: Obj) -> str:
    found = json_path.find(path, obj)
    return text_of(found[0]) if found and found[0] is not None else ""


def _deprecation(spec: Obj, names: Obj, version: Obj) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], names["kind"], version["name"]
    told = f"{group}/{name} {kind} is deprecated"
    better = sorted(
        (each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")), key=version_order
    )
    if better and version_order(better[0]) < version_order(name):
        told += f"; use {group}/{better[0]} {kind}"
    return told


def _warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    known = set((old or {}).get("metadata", {}).get("finalizers") or ())
    for name in sorted(set(new["metadata"].get("finalizers") or ()) - known):
        told = list(qualified_name(name))
        if "/" not in name and name not in STANDARD_FINALIZERS:
            told.append(_LIKE_A_DOMAIN if "." in name else _PLAIN_WORD)
        yield from (f"metadata.finalizers: {quote(name)}: {each}" for each in told)


class _Checks:
    """What a version demands of its objects."""

    def __init__(self, version: Obj, node: Node, scale: Scale | None) -> None:
        self._schema: Mapping[str, Any] = get(version, ("schema", "openAPIV3Schema"), {})
        self._status: Mapping[str, Any] | None = get(self._schema, ("properties", "status"))
        self._node = node
        self._scale = scale

    def created(self, obj: Obj) -> Problems:
        yield from validate_values(obj, self._schema)
        yield from self._replicas(obj)
        yield from validate_embedded(obj, self._node)
        yield from validate_lists(obj, self._node)

    def updated(self, new: Obj, old: Obj) -> Problems:
        yield from validate_values(new, self._schema, old=old)
        yield from self._replicas(new)
        yield from validate_embedded(new, self._node)
        yield from self._lists(new, old)

    def status_updated(self, new: Obj, old: Obj) -> Problems:
        if "status" in new and self._status is not None:
            yield from validate_values(new["status"], self._status, "status", old.get("status", ABSENT))
        if self._scale is not None:
            yield from self._number(new, self._scale.status)
        yield from self._lists(new, old)

    def _lists(self, new: Obj, old: Obj) -> Problems:
        """Lists that were wrong already may stay so."""
        problems = list(validate_lists(new, self._node))
        return problems if problems and not any(validate_lists(old, self._node)) else ()

    def _replicas(self, obj: Obj) -> Iterator[FieldError]:
        if self._scale is not None:
            yield from self._number(obj, self._scale.spec)
            yield from self._number(obj, self._scale.status)

    @staticmethod
    def _number(obj: Obj, path: str) -> Iterator[FieldError]:
        value = tree.get(obj, tree.path(path), 0)
        if type(value) is not int:
            told = f".{path} accessor error: {go_text(value)} is of the type {go_type(value)}, expected int64"
            yield invalid(f".{path}", 0, told)
        elif value < 0:
            yield invalid(f".{path}", value, "should be a non-negative integer")
        elif value > _MOST_REPLICAS:
            yield invalid(f".{path}", value, f"should be less than or equal to {_MOST_REPLICAS}")
