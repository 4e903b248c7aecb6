"""What a kind is: one frozen value. A CustomResourceDefinition builds the same value at run time and takes the same path.

The order in which the API server uses the hooks of a write:

    decode -> `default` -> mutating admission -> `prepare_create` / `prepare_update` -> `validate` (and `validate_update`)
    -> validating admission -> store

Hooks may change the tree they are given in place (until it is stored it belongs to the request) and must not keep it. `old`
trees are shared and read-only.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj, Path, path

Problems = Iterable[FieldError]
Verb = Literal["create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"]

ALL_VERBS: tuple[Verb, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def no_default(_: Obj) -> None:
    """Nothing to fill in."""


def no_problems(_: Obj) -> Problems:
    return ()


def no_update_problems(_new: Obj, _old: Obj) -> Problems:
    return ()


def no_prepare(_: Obj) -> None:
    """Nothing beyond what the Strategy says."""


def no_prepare_update(_new: Obj, _old: Obj) -> None:
    """Nothing beyond what the Strategy says."""


def no_warnings(_new: Obj, _old: Obj | None) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Strategy:
    """What create, update and status may change."""

    status: bool = False
    """There is a /status: main writes keep the old status, status writes keep everything else."""
    status_on_create: bool = False
    """Create keeps the status that the client sent (nodes do)."""
    generation_of: tuple[Path, ...] = ()
    """A change below any of these paths raises metadata.generation; none: the kind has no generation. The empty path is
    everything but the metadata."""
    create_on_update: bool = False
    """PUT to a name that does not exist creates it (events, leases, ...)."""
    unconditional_update: bool = True
    """PUT without a resourceVersion overwrites."""
    status_keeps_metadata: bool = False
    """A status write may not change labels, annotations, finalizers or owner references."""
    graceful: bool = False
    """Deletion waits for somebody (the kubelet) to confirm: pods."""
    spec_finalizers: bool = False
    """spec.finalizers hold the object too, and its phase says Terminating while they do: namespaces."""
    returns_deleted: bool = False
    """DELETE answers with the object instead of a Status."""
    propagation: Literal["background", "orphan"] = "background"
    """Default of a delete that does not say (orphan: only the oldest kinds)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where /scale finds its numbers."""

    spec: str = "spec.replicas"
    status: str = "status.replicas"
    selector: str = "spec.selector"
    """Path of a label selector (structured, or a plain map of labels)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A subresource that updates one part of the object: ephemeralcontainers, resize, approval, finalize.

    `prepare(new, old)` takes everything but that part from `old`; `validate` replaces `validate` and `validate_update`.
    """

    prepare: Callable[[Obj, Obj], None]
    validate: Callable[[Obj, Obj], Problems] = no_update_problems


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. `value` is a dotted path, or a function of the object and `now`."""

    name: str
    value: str | Callable[[Obj, float], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    wide: bool = False
    """Shown by -o wide only (priority 1)."""
    final: bool = False
    """`value` is a function that makes the cell itself: what is absent or a date is not spelled once more."""


AGE = Column(
    "Age",
    "metadata.creationTimestamp",
    type="date",
    description="CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
    "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is "
    "represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a version that is served but not stored becomes the stored one, and back (HPA v1 and v2, the two Events)."""

    to_stored: Callable[[Obj], Obj]
    from_stored: Callable[[Obj], Obj]


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    version: str
    kind: str
    plural: str
    schema: str
    """Name of the OpenAPI definition: `io.k8s.api.apps.v1.ReplicaSet`."""
    namespaced: bool = True
    singular: str = ""
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ALL_VERBS
    storage_prefix: str = ""
    """Where upstream keeps it in etcd below /registry, where that is not the plural: `minions`, `services/specs`."""
    stored_as: "Kind | None" = None
    """The kind whose storage it shares; `conversion` goes with it."""
    conversion: Conversion | None = None
    default: Callable[[Obj], None] = no_default
    prepare_create: Callable[[Obj], None] = no_prepare
    prepare_update: Callable[[Obj, Obj], None] = no_prepare_update
    prepare_status: Callable[[Obj, Obj], None] = no_prepare_update
    prepare_delete: Callable[[Obj, float], Obj] | None = None
    """What the first request to delete it makes of it (given a copy that may be changed), so that it waits for somebody."""
    validate: Callable[[Obj], Problems] = no_problems
    validate_create: Callable[[Obj], Problems] = no_problems
    """Called on create only, in addition to `validate(new)`: what is tolerated in objects that are there already."""
    validate_update: Callable[[Obj, Obj], Problems] = no_update_problems
    """Called with the new and the old object, in addition to `validate(new)`."""
    validate_status: Callable[[Obj, Obj], Problems] = no_update_problems
    warnings: Callable[[Obj, Obj | None], Iterable[str]] = no_warnings
    name: Callable[[str], list[str]] | None = None
    """Checks metadata.name; None: a DNS-1123 subdomain."""
    metadata_last: bool = False
    """The metadata of a new one is looked at only if nothing else is wrong with it (events, disruption budgets)."""
    strategy: Strategy = field(default_factory=Strategy)
    scale: Scale | None = None
    selectable: tuple[str, ...] = ()
    """Field labels that field selectors may use besides metadata.name and metadata.namespace."""
    field_of: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    """How to read a selectable field that is not simply the value at its path."""
    columns: tuple[Column, ...] = (AGE,)
    """What follows Name, which the table writer puts first unless it is listed here."""
    parts: Mapping[str, Part] = field(default_factory=dict)
    """Subresources that update a part of the object."""
    subresources: tuple[str, ...] = ()
    """Further ones that the kind serves: binding, eviction, log, exec, token, approval, ..."""
    ephemeral: bool = False
    """Never stored: create answers at once (reviews)."""
    reported: bool = False
    """Never stored: what nodes say when they are asked (metrics)."""
    custom: bool = False
    """Described by a CustomResourceDefinition."""
    closing: bool = False
    """Its definition is on its way out: nothing is created any more."""
    list_name: str = ""
    """Of a list of it, where that is not the kind with List after it."""
    deprecated: str = ""
    """What the answer to any request for it warns of; empty: nothing."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        return self.list_name or self.kind + "List"

    @property
    def gvk(self) -> tuple[str, str, str]:
        return self.group, self.version, self.kind

    @property
    def stored(self) -> "Kind":
        return self.stored_as or self

    @property
    def prefix(self) -> str:
        """The bucket of the store (and the part of the etcd key after /registry/) that holds its objects."""
        stored = self.stored
        return stored.storage_prefix or stored.plural


SPEC: tuple[Path, ...] = (path("spec"),)
ALL_BUT_METADATA: tuple[Path, ...] = ((),)
