"""Ephemeral volumes: a claim for each pod that brings a template for one. It goes with its pod, by its owner reference."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import Create, Emit, Note, Plan, Write
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class World:
    pod: Obj
    claims: dict[str, Obj]
    """By name: what has the names of its claims."""


def ephemeral(pod: Obj) -> dict[str, Obj]:
    """Its ephemeral volumes, by the names of their claims."""
    return {f"{meta.name(pod)}-{each['name']}": each for each in pod["spec"].get("volumes") or () if each.get("ephemeral")}


def claims_used(pod: Obj) -> Iterable[str]:
    """`namespace/name` of the claims that a pod's volumes are of."""
    space = meta.namespace(pod)
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield f"{space}/{volume['persistentVolumeClaim'].get('claimName', '')}"
        elif volume.get("ephemeral"):
            yield f"{space}/{meta.name(pod)}-{volume['name']}"


def _pod_key(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """A pod's volumes never change."""
    return (meta.key(new),) if old is None and new is not None and ephemeral(new) else ()


def _pods_of_claim(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """Whose claim was deleted by somebody."""
    return map(meta.key, caches[PODS].by("claim", meta.key(old))) if new is None and old is not None else ()


class EphemeralVolumeController(Base):
    name = "ephemeral-volume-controller"
    component = "ephemeral_volume"
    watches = (Watch(PODS, _pod_key, {"claim": claims_used}), Watch(PERSISTENT_VOLUME_CLAIMS, _pods_of_claim))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        pod = caches[PODS].get(key)
        if pod is None or meta.is_deleting(pod):
            return None
        found = {name: caches[PERSISTENT_VOLUME_CLAIMS].get(f"{meta.namespace(pod)}/{name}") for name in ephemeral(pod)}
        return World(pod, {name: claim for name, claim in found.items() if claim is not None})

    @staticmethod
    def reconcile(world: World) -> Plan:
        pod, writes = world.pod, list[Write]()
        for name, volume in ephemeral(pod).items():
            present = world.claims.get(name)
            if present is None:
                failed = _failed(pod, volume, f"create PVC {name}: {{error}}")
                writes.append(Create(PERSISTENT_VOLUME_CLAIMS, _claim(pod, name, volume), failed=failed))
            elif not meta.is_controlled_by(present, pod):
                key = meta.key(pod)
                why = f"PVC {meta.key(present)} was not created for pod {key} (pod is not owner)"
                return Plan((*writes, Emit(_failed(pod, volume, why))), retry=why)
        return Plan(tuple(writes))


def _failed(pod: Obj, volume: Obj, why: str) -> Note:
    return Note(pod, "FailedBinding", f"ephemeral volume {volume['name']}: {why}", "Warning")


def _claim(pod: Obj, name: str, volume: Obj) -> Obj:
    template = volume["ephemeral"]["volumeClaimTemplate"]
    given = template.get("metadata") or {}
    metadata: Obj = {"name": name, "namespace": meta.namespace(pod), "ownerReferences": [reference_to(PODS, pod)]}
    metadata |= {part: given[part] for part in ("labels", "annotations") if given.get(part)}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
