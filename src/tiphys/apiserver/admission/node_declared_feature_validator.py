"""NodeDeclaredFeatureValidator: a running pod is not changed in a way that its node has not declared to understand."""

from collections.abc import Iterator

from tiphys.apiserver.admission.chain import PODS, UPDATE, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery.tree import Obj, get

RESIZE_OF_POD = "InPlacePodLevelResourcesVerticalScaling"
RESIZE_OF_INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"


class NodeDeclaredFeatureValidator:
    name = "NodeDeclaredFeatureValidator"
    operations = UPDATE
    resources = PODS

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.obj, attributes.old
        if new is None or old is None or attributes.subresource not in ("", "resize"):
            return
        node_name = new["spec"].get("nodeName")
        if not node_name or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        required = list(_required(new["spec"], old["spec"]))
        if not required:
            return
        node = self._lookup.get("minions", node_name)
        if node is None:
            raise attributes.forbidden(f'node "{node_name}" not found')
        declared = get(node, ("status", "declaredFeatures")) or ()
        missing = [each for each in required if each not in declared]
        if missing:
            told = f'pod update requires features {", ".join(missing)} which are not available on node "{node_name}"'
            raise attributes.forbidden(told)


def _required(new: Obj, old: Obj) -> Iterator[str]:
    if (new.get("resources") or None) != (old.get("resources") or None):
        yield RESIZE_OF_POD
    pairs = zip(old.get("initContainers") or (), new.get("initContainers") or (), strict=False)
    if any(was.get("restartPolicy") != "Always" and was.get("resources") != now.get("resources") for was, now in pairs):
        yield RESIZE_OF_INIT_CONTAINERS
