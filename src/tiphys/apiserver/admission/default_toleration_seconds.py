"""DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached, unless it says else."""

from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


class DefaultTolerationSeconds:
    name = "DefaultTolerationSeconds"
    operations = CREATE_UPDATE
    resources = PODS

    def __init__(self, not_ready_seconds: int = 300, unreachable_seconds: int = 300) -> None:
        self._seconds = {NOT_READY: not_ready_seconds, UNREACHABLE: unreachable_seconds}

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or not attributes.concerns("", "pods"):
            return
        spec = attributes.obj["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in self._seconds if not any(_covers(each, key) for each in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(self._toleration(key) for key in missing)]

    def _toleration(self, key: str) -> dict[str, object]:
        return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._seconds[key]}


def _covers(toleration: dict[str, object], key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
