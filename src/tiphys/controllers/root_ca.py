"""Root CA publisher: every namespace has the ConfigMap by which its pods know the API server."""

from dataclasses import dataclass

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.controllers.controller import Base, Caches, Watch, metadata_only, namespace_key, own
from tiphys.controllers.plan import ALREADY_EXISTS, NAMESPACE_TERMINATING, NOTHING, Create, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get, put

NAME = "kube-root-ca.crt"
DESCRIBED = "kubernetes.io/description"
# Users see this text in the object, so it is upstream's.
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


def keep(config_map: Obj) -> Obj:
    """Of all others nothing but their metadata: they may be large."""
    return config_map if config_map["metadata"]["name"] == NAME else metadata_only(config_map)


@dataclass(frozen=True, slots=True)
class World:
    namespace: Obj
    present: Obj | None


class RootCaPublisher(Base):
    name = "root-ca-certificate-publisher-controller"
    component = "root-ca-cert-publisher"
    watches = (own(NAMESPACES), Watch(CONFIG_MAPS, namespace_key, keep=keep))

    def __init__(self, certificate: str) -> None:
        self._certificate = certificate

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        namespace = caches[NAMESPACES].get(key)
        return World(namespace, caches[CONFIG_MAPS].get(f"{key}/{NAME}")) if namespace else None

    def reconcile(self, world: World) -> Plan:
        if get(world.namespace, ("status", "phase")) != "Active":
            return NOTHING
        data = {"ca.crt": self._certificate}
        present = world.present
        if present is None:
            metadata = {
                "name": NAME,
                "namespace": meta.name(world.namespace),
                "annotations": {DESCRIBED: DESCRIPTION},
            }
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            return Plan((Create(CONFIG_MAPS, made, tolerate=ALREADY_EXISTS | NAMESPACE_TERMINATING),))
        if present.get("data") == data and meta.annotations(present).get(DESCRIBED):
            return NOTHING
        annotations = {**meta.annotations(present), DESCRIBED: DESCRIPTION}
        return Plan((Update(CONFIG_MAPS, put({**present, "data": data}, ("metadata", "annotations"), annotations)),))
