"""RuntimeClass: a pod gets the overhead, node selector and tolerations of the class that it names."""

from tiphys.apiserver.admission.chain import CREATE, PODS, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery.tree import Obj

_OVERHEAD_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass:
    name = "RuntimeClass"
    operations = CREATE
    resources = PODS

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def _class_of(self, attributes: Attributes) -> Obj | None:
        assert attributes.obj is not None
        name = attributes.obj["spec"].get("runtimeClassName")
        if name is None:
            return None
        found = self._lookup.get("runtimeclasses", name) or await self._lookup.fresh("runtimeclasses", name)
        if found is None:
            raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        return found

    async def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or not attributes.concerns("", "pods"):
            return
        found = await self._class_of(attributes)
        if found is None:
            return
        spec = attributes.obj["spec"]
        if found.get("overhead") is not None:
            fixed = found["overhead"].get("podFixed") or {}
            if spec.get("overhead") and spec["overhead"] != fixed:
                raise attributes.forbidden(_OVERHEAD_DIFFERS)
            spec["overhead"] = dict(fixed)
        if scheduling := found.get("scheduling"):
            _add_selector(attributes, spec, scheduling.get("nodeSelector") or {})
            _add_tolerations(spec, scheduling.get("tolerations") or [])

    async def validate(self, attributes: Attributes) -> None:
        if attributes.obj is None or not attributes.concerns("", "pods"):
            return
        found = await self._class_of(attributes)
        overhead = attributes.obj["spec"].get("overhead")
        if found is not None and found.get("overhead") is not None:
            if (overhead or {}) != (found["overhead"].get("podFixed") or {}):
                raise attributes.forbidden(_OVERHEAD_DIFFERS)
        elif overhead is not None:
            raise attributes.forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")


def _add_selector(attributes: Attributes, spec: Obj, wanted: Obj) -> None:
    present = spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if present.get(key, value) != value:
            raise attributes.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {present[key]}"
            )
    if merged := {**present, **wanted}:
        spec["nodeSelector"] = merged


def _add_tolerations(spec: Obj, wanted: list[Obj]) -> None:
    present = spec.get("tolerations") or []
    added = [dict(each) for each in wanted if each not in present]
    if added:
        spec["tolerations"] = [*present, *added]
