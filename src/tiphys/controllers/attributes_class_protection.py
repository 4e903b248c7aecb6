"""A VolumeAttributesClass that a claim or a volume names outlives its deletion until none does: a finalizer holds it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.storage.volumeattributesclasses import VOLUMEATTRIBUTESCLASSES
from tiphys.controllers.controller import Base, Caches, Keys, Watch
from tiphys.controllers.plan import Plan
from tiphys.controllers.protection import Protection
from tiphys.machinery.tree import Obj, get

CLASSES = Protection(VOLUMEATTRIBUTESCLASSES, "kubernetes.io/vac-protection")

_NAMED_BY_CLAIM = (
    ("spec", "volumeAttributesClassName"),
    ("status", "currentVolumeAttributesClassName"),
    ("status", "modifyVolumeStatus", "targetVolumeAttributesClassName"),
)
_NAMED_BY_VOLUME = (("spec", "volumeAttributesClassName"),)


@dataclass(frozen=True, slots=True)
class World:
    attributes_class: Obj
    used: bool
    """By a claim or a volume."""


def named_by_claim(claim: Obj) -> list[str]:
    return sorted({name for at in _NAMED_BY_CLAIM if (name := get(claim, at))})


def named_by_volume(volume: Obj) -> list[str]:
    return [name for at in _NAMED_BY_VOLUME if (name := get(volume, at))]


def _no_longer(names: Callable[[Obj], Iterable[str]]) -> Keys:
    """Of the classes that an object has ceased to name."""

    def keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
        if old is None:
            return ()
        return set(names(old)) - set(names(new) if new is not None else ())

    return keys


class AttributesClassProtectionController(Base):
    name = "volumeattributesclass-protection-controller"
    component = "volumeattributesclass-protection-controller"
    watches = (
        Watch(VOLUMEATTRIBUTESCLASSES, CLASSES.keys),
        Watch(PERSISTENT_VOLUME_CLAIMS, _no_longer(named_by_claim), {"attributes-class": named_by_claim}),
        Watch(PERSISTENT_VOLUMES, _no_longer(named_by_volume), {"attributes-class": named_by_volume}),
    )

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        found = caches[VOLUMEATTRIBUTESCLASSES].get(key)
        if found is None:
            return None
        users = (caches[kind].by("attributes-class", key) for kind in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES))
        return World(found, any(any(True for _ in each) for each in users))

    @staticmethod
    def reconcile(world: World) -> Plan:
        return CLASSES.plan(world.attributes_class, used=world.used)
