"""Decides what a dying namespace says of itself, when to look again, and when to let it go."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.kind import Kind
from tiphys.controllers import conditions, kinds
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch, no_keys, own_key
from tiphys.controllers.namespace.emptying import Remaining, empty
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Inquire, Plan, Update, Write, set_status
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get, put

FINALIZER = "kubernetes"
_FINE = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)
"""What each condition says when there is nothing to say."""


@dataclass(frozen=True, slots=True)
class World:
    namespace: Obj
    remaining: Remaining | None
    """What the last look has found; None: nobody has looked yet."""
    kinds: tuple[Kind, ...]
    """What a namespace of this server may contain."""
    now: float


class NamespaceController(Base):
    name = "namespace-controller"
    component = "namespace-controller"
    watches = (Watch(NAMESPACES, own_key), Watch(CUSTOM_RESOURCE_DEFINITIONS, no_keys))
    inquiries: Mapping[str, Inquiry] = {"empty": empty}

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        namespace = caches[NAMESPACES].get(key)
        if namespace is None or not meta.is_deleting(namespace):
            return None
        every = (*kinds.built_in(), *kinds.custom(caches[CUSTOM_RESOURCE_DEFINITIONS]))
        contained = tuple(kind for kind in every if kind.namespaced)
        return World(namespace, caches.answers.get(key), contained, now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        namespace, remaining = world.namespace, world.remaining
        if FINALIZER not in (get(namespace, ("spec", "finalizers")) or ()):
            return NOTHING
        if remaining is None:
            return Plan((Inquire("empty", {"namespace": meta.name(namespace), "kinds": world.kinds}),))
        status = _status(namespace, remaining, world.now)
        changed = status != namespace.get("status")
        writes: list[Write] = [set_status(NAMESPACES, namespace, status)] if changed else []
        if remaining.problems:
            return Plan(tuple(writes), retry=", ".join(remaining.problems))
        if remaining.seconds:
            return Plan(tuple(writes), again_in=remaining.seconds // 2 + 1)
        if changed:
            # The version has moved on; the next turn lets go of the version that it sees.
            return Plan((*writes, Inquire("empty", {"namespace": meta.name(namespace), "kinds": world.kinds})))
        kept = [name for name in namespace["spec"]["finalizers"] if name != FINALIZER]
        released = put(namespace, ("spec", "finalizers"), kept)
        return Plan((Update(NAMESPACES, released, "finalize", tolerate=NOT_FOUND),))


def _status(namespace: Obj, remaining: Remaining, now: float) -> Obj:
    status = namespace.get("status") or {}
    listed: list[Obj] = list(status.get("conditions") or ())
    told = _told(remaining)
    for kind, reason, message in _FINE:
        state, reason, message = told.get(kind, ("False", reason, message))
        new = conditions.condition(kind, state, reason, message, now)
        old = conditions.find(listed, kind)
        if old is None:
            listed.append(new)
        elif (old["status"], old.get("reason"), old.get("message")) != (state, reason, message):
            if old["status"] == state:
                new["lastTransitionTime"] = old.get("lastTransitionTime")
            listed[listed.index(old)] = new
    return {**status, "phase": "Terminating", "conditions": listed}


def _told(remaining: Remaining) -> dict[str, tuple[str, str, str]]:
    told: dict[str, tuple[str, str, str]] = {}
    if remaining.problems:
        problems = sorted(remaining.problems)
        message = f"Failed to delete all resource types, {len(problems)} remaining: {', '.join(problems)}"
        told["NamespaceDeletionContentFailure"] = ("True", "ContentDeletionFailed", message)
    if remaining.pods_only:
        return told
    if remaining.resources:
        listed = ", ".join(sorted(f"{name} has {count} resource instances" for name, count in remaining.resources.items()))
        message = f"Some resources are remaining: {listed}"
        told["NamespaceContentRemaining"] = ("True", "SomeResourcesRemain", message)
    if remaining.finalizers:
        listed = ", ".join(sorted(f"{name} in {count} resource instances" for name, count in remaining.finalizers.items()))
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        told["NamespaceFinalizersRemaining"] = ("True", "SomeFinalizersRemain", message)
    return told
