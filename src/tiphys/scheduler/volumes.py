"""Claims, volumes and storage classes, as far as they say where a pod can run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiphys.api.node_selector import LabelCondition, NodeTerm, node_terms
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler import migration
from tiphys.scheduler.selecting import selector_of

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_CLASS = "volume.beta.kubernetes.io/storage-class"
_NAMING = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}
_SHARED_DISKS = tuple(_NAMING)


@dataclass(frozen=True, slots=True)
class ClaimUse:
    name: str
    ephemeral: bool = False
    """Made for this pod alone, by a controller, under a name of its own."""


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """What has to be written, and come about, before a pod can be bound to the node."""

    bindings: tuple[tuple[Obj, Obj], ...] = ()
    """Volumes, each with the claim it is for."""
    provisions: tuple[Obj, ...] = ()
    """Claims for which a volume is to be made."""

    def __bool__(self) -> bool:
        return bool(self.bindings or self.provisions)


def claims_of(pod_name: str, volumes: Iterable[Obj]) -> Iterator[ClaimUse]:
    for each in volumes:
        if each.get("persistentVolumeClaim"):
            yield ClaimUse(each["persistentVolumeClaim"].get("claimName") or "")
        elif each.get("ephemeral"):
            yield ClaimUse(f"{pod_name}-{each['name']}", ephemeral=True)


def named_disks(volumes: Iterable[Obj]) -> tuple[Obj, ...]:
    """Disks that the pod itself names: two pods on one node may not share some, and nodes cannot have any number of them."""
    return tuple(each for each in volumes if migration.source_in(each) or any(each.get(kind) for kind in _SHARED_DISKS))


def disk_name(disk: Obj) -> tuple[str, ...] | None:
    """The same of all that may clash with it; None: nothing can."""
    for kind in _SHARED_DISKS:
        told = disk.get(kind)
        if told:
            return kind, *(str(told.get(key)) for key in _NAMING[kind])
    return None


def clash(one: Obj, other: Obj) -> bool:
    """Two volumes of pods that are the same disk, and not only read."""
    for kind in _SHARED_DISKS:
        mine, theirs = one.get(kind), other.get(kind)
        if not mine or not theirs:
            continue
        reading = bool(mine.get("readOnly")) and bool(theirs.get("readOnly"))
        match kind:
            case "gcePersistentDisk":
                same = mine.get("pdName") == theirs.get("pdName") and not reading
            case "awsElasticBlockStore":
                same = mine.get("volumeID") == theirs.get("volumeID")
            case "iscsi":
                same = mine.get("iqn") == theirs.get("iqn") and not reading
            case _:
                image = all(mine.get(key) == theirs.get(key) for key in ("pool", "image"))
                monitors = set(mine.get("monitors") or ()) & set(theirs.get("monitors") or ())
                same = image and bool(monitors) and not reading
        if same:
            return True
    return False


def class_of(obj: Obj) -> str:
    """Of a claim or a volume."""
    annotated: str | None = (obj["metadata"].get("annotations") or {}).get(_CLASS)
    return annotated if annotated is not None else (obj.get("spec") or {}).get("storageClassName") or ""


def is_bound(claim: Obj) -> bool:
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in (claim["metadata"].get("annotations") or {})


def selected_node(claim: Obj) -> str | None:
    return (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)


def requested(claim: Obj) -> Quantity:
    return quantity.parse(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))


def capacity(volume: Obj) -> Quantity:
    return quantity.parse((volume["spec"].get("capacity") or {}).get("storage", "0"))


def is_for(volume: Obj, claim: Obj) -> bool:
    """The volume names the claim; by its uid, too, if it has it."""
    reference, meta = volume["spec"].get("claimRef") or {}, claim["metadata"]
    if (reference.get("namespace"), reference.get("name")) != (meta.get("namespace"), meta.get("name")):
        return False
    return not reference.get("uid") or reference["uid"] == meta.get("uid")


def suits(volume: Obj, claim: Obj) -> bool:
    """upstream staging/src/k8s.io/component-helpers/storage/volume: FindMatchingVolume, without the node."""
    spec, wanted = volume["spec"], claim["spec"]
    if spec.get("claimRef") and not is_for(volume, claim):
        return False
    if volume["metadata"].get("deletionTimestamp") or capacity(volume) < requested(claim):
        return False
    if (spec.get("volumeMode") or "Filesystem") != (wanted.get("volumeMode") or "Filesystem"):
        return False
    if (spec.get("volumeAttributesClassName") or "") != (wanted.get("volumeAttributesClassName") or ""):
        return False
    if spec.get("claimRef"):
        return True
    if (volume.get("status") or {}).get("phase") != "Available" or class_of(volume) != class_of(claim):
        return False
    if wanted.get("selector") is not None:
        chosen = selector_of(wanted["selector"])
        if not chosen.matches(volume["metadata"].get("labels") or {}):
            return False
    return set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())


def nodes_of(volume: Obj) -> tuple[NodeTerm, ...] | None:
    """From where it can be reached; None: from everywhere."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return None if required is None else node_terms(required)


def topologies_of(storage_class: Obj) -> tuple[NodeTerm, ...] | None:
    """Where volumes of the class can be made; None: everywhere."""
    allowed = storage_class.get("allowedTopologies")
    if not allowed:
        return None
    return tuple(
        NodeTerm(
            tuple(
                LabelCondition(each.get("key", ""), "in", tuple(each.get("values") or ()))
                for each in term.get("matchLabelExpressions") or ()
            )
        )
        for term in allowed
        if term.get("matchLabelExpressions")
    )


def term_of(selector: Obj) -> NodeTerm:
    """A LabelSelector over nodes as a term."""
    chosen = selector_of(selector)
    if chosen.nothing:
        return NodeTerm(unsound=True)
    found = chosen.requirements
    return NodeTerm(
        tuple(LabelCondition(each.key, "in" if each.operator == "=" else each.operator, each.values) for each in found)
    )
