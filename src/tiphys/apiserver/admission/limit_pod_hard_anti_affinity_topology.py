"""LimitPodHardAntiAffinityTopology: a pod may keep others off its node, not off a whole zone."""

from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.machinery import errors
from tiphys.machinery.tree import get

HOSTNAME = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology:
    name = "LimitPodHardAntiAffinityTopology"
    operations = CREATE_UPDATE
    resources = PODS

    def validate(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.subresource:
            return
        at = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        for term in get(pod, at) or ():
            key = term.get("topologyKey", "")
            if key != HOSTNAME:
                told = f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key}"
                why = f"{told} but only key {HOSTNAME} is allowed"
                raise errors.forbidden("", "pods", pod["metadata"].get("name", ""), why)
