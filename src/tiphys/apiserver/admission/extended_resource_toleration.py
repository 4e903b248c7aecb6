"""ExtendedResourceToleration: a pod that asks for a device tolerates the taint that keeps others off the nodes with it."""

from tiphys.api.quota.usage import is_extended
from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.machinery.tree import Obj, get


class ExtendedResourceToleration:
    name = "ExtendedResourceToleration"
    operations = CREATE_UPDATE
    resources = PODS

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.subresource:
            return
        spec = attributes.obj["spec"]
        asked = {
            name
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
            for name in get(container, ("resources", "requests")) or ()
            if is_extended(name) and "kubernetes.io/" not in name
        }
        for name in sorted(asked):
            _tolerate(spec, name)


def _tolerate(spec: Obj, key: str) -> None:
    wanted = {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    present = spec.get("tolerations") or []
    same = [each.get("key") == key and each.get("effect") == "NoSchedule" and _exists(each) for each in present]
    changed = [wanted if matches else each for each, matches in zip(present, same, strict=True)]
    spec["tolerations"] = changed if any(same) else [*present, wanted]


def _exists(toleration: Obj) -> bool:
    return toleration.get("operator") == "Exists" and not toleration.get("value")
