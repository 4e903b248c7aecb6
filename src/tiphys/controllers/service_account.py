"""ServiceAccount controller: every namespace that is in use has the account `default`, as which its pods run."""

from dataclasses import dataclass

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.controllers.controller import Base, Caches, Watch, namespace_key, own
from tiphys.controllers.plan import ALREADY_EXISTS, NAMESPACE_TERMINATING, NOTHING, Create, Plan
from tiphys.machinery.tree import Obj, get

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class World:
    namespace: Obj
    present: bool


class ServiceAccountController(Base):
    name = "serviceaccount-controller"
    component = "serviceaccount-controller"
    watches = (own(NAMESPACES), Watch(SERVICE_ACCOUNTS, namespace_key))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        namespace = caches[NAMESPACES].get(key)
        return World(namespace, caches[SERVICE_ACCOUNTS].get(f"{key}/{DEFAULT}") is not None) if namespace else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        if world.present or get(world.namespace, ("status", "phase")) != "Active":
            return NOTHING
        metadata = {"name": DEFAULT, "namespace": world.namespace["metadata"]["name"]}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        return Plan((Create(SERVICE_ACCOUNTS, account, tolerate=ALREADY_EXISTS | NAMESPACE_TERMINATING),))
