"""PodTopologyLabels: a pod learns the zone and region of its node when it is bound to it."""

from tiphys.apiserver.admission.chain import CREATE, PODS, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery.tree import Obj

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    name = "PodTopologyLabels"
    operations = CREATE
    resources = PODS

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None:
            return
        if attributes.subresource == "binding":
            target = obj.get("target") or {}
            if target.get("kind", "Node") == "Node":
                self._label(obj, target.get("name", ""))
        elif not attributes.subresource and (node := obj["spec"].get("nodeName")):
            self._label(obj, node)

    def _label(self, obj: Obj, node_name: str) -> None:
        node = self._lookup.get("minions", node_name)
        labels = (node["metadata"].get("labels") or {}) if node is not None else {}
        if found := {key: labels[key] for key in LABELS if key in labels}:
            obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), **found}
