"""What plugins ask about besides nodes and the pods on them."""

from collections.abc import Callable

from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.selectors import Requirement, Selector
from tiphys.machinery.tree import Obj
from tiphys.scheduler import volumes
from tiphys.scheduler.devices.claims import Claims
from tiphys.scheduler.devices.extended import ClassesBehind
from tiphys.scheduler.devices.pools import Slices
from tiphys.scheduler.devices.trying import Devices
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.selecting import selector_of
from tiphys.scheduler.volumes import VolumePlan

_Named = dict[str, Obj]


class VolumesLost(Exception):
    """What was decided for the volumes of a pod did not come about."""


class Cluster:
    """Kept up to date by the loop; objects by namespace and name. Read-only for plugins."""

    def __init__(self, choose: Callable[[int], int] = lambda _: 0) -> None:
        """`choose(n)` is a number below n."""
        self._choose = choose
        self.now = 0.0
        """When the pod that is tried came up."""
        self.namespaces: _Named = {}
        self.services: dict[str, _Named] = {}
        self.replication_controllers: dict[str, _Named] = {}
        self.replica_sets: dict[str, _Named] = {}
        self.stateful_sets: dict[str, _Named] = {}
        self.budgets: dict[str, _Named] = {}
        self.claims: dict[str, _Named] = {}
        self.volumes: _Named = {}
        self.storage_classes: _Named = {}
        self.attachments: _Named = {}
        self.csi_nodes: _Named = {}
        self.csi_drivers: _Named = {}
        self.csi_capacities: dict[str, _Named] = {}
        self.resource_claims = Claims()
        self.resource_slices: _Named = {}
        self.device_classes: _Named = {}
        behind = ClassesBehind(self.device_classes)
        self.devices = Devices(self.resource_claims, Slices(self.resource_slices), self.device_classes, behind)
        self._promised: dict[str, str] = {}
        """Volumes that claims were decided to get, by name, and the claim."""
        self._chosen: dict[str, str] = {}
        """Claims for which a volume will be made, and for which node."""

    def new_uid(self) -> str:
        """Random, as RFC 9562 wants it (version 4)."""
        digits = f"{self._choose(2**122):031x}"
        variant = "89ab"[int(digits[0], 16) & 3]
        return f"{digits[1:9]}-{digits[9:13]}-4{digits[13:16]}-{variant}{digits[16:19]}-{digits[19:]}"

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        found = self.namespaces.get(namespace)
        return (found["metadata"].get("labels") or {}) if found else {}

    def namespaces_matching(self, selector: Selector) -> frozenset[str]:
        return frozenset(
            name for name, each in self.namespaces.items() if selector.matches(each["metadata"].get("labels") or {})
        )

    def claim(self, namespace: str, name: str) -> Obj | None:
        return self.claims.get(namespace, {}).get(name)

    def node_for(self, claim: Obj) -> str | None:
        """The node that a volume is to be made for, if that is decided."""
        return self._chosen.get(_key(claim)) or volumes.selected_node(claim)

    def volumes_for(self, claim: Obj) -> list[Obj]:
        return [
            each
            for name, each in self.volumes.items()
            if self._promised.get(name, _key(claim)) == _key(claim) and volumes.suits(each, claim)
        ]

    def attached(self) -> list[tuple[str, str, Obj]]:
        """Nodes, each with a driver and a volume that it has attached there, or is about to."""
        found = []
        for each in self.attachments.values():
            spec = each["spec"]
            volume = self.volumes.get((spec.get("source") or {}).get("persistentVolumeName") or "")
            if spec.get("attacher") and volume is not None:
                found.append((spec.get("nodeName", ""), spec["attacher"], volume))
        return found

    def capacities_for(self, storage_class: str, size: Quantity) -> list[Obj]:
        """Places where so much can still be had."""
        return [
            each
            for named in self.csi_capacities.values()
            for each in named.values()
            if each.get("storageClassName") == storage_class and each.get("nodeTopology") is not None and _enough(each, size)
        ]

    def promise(self, plan: VolumePlan, node: str) -> None:
        """What was decided holds for the pods that are tried next, before it is written."""
        self._promised.update({volume["metadata"]["name"]: _key(claim) for volume, claim in plan.bindings})
        self._chosen.update({_key(claim): node for claim in plan.provisions})

    def take_back(self, plan: VolumePlan) -> None:
        """It is written, or it will not be."""
        for volume, _ in plan.bindings:
            self._promised.pop(volume["metadata"]["name"], None)
        for claim in plan.provisions:
            self._chosen.pop(_key(claim), None)

    def are_bound(self, plan: VolumePlan, node: str) -> bool:
        """Whether all that was written has come about. Raises VolumesLost once it cannot any more."""
        for _, claim in plan.bindings:
            now = self.claim(claim["metadata"]["namespace"], claim["metadata"]["name"])
            if now is None:
                raise VolumesLost(f"failed to check binding: could not find {_key(claim)}")
            if not volumes.is_bound(now):
                return False
        for claim in plan.provisions:
            now = self.claim(claim["metadata"]["namespace"], claim["metadata"]["name"])
            if now is None:
                raise VolumesLost(f"failed to check provisioning pvc: could not find {_key(claim)}")
            if now["metadata"]["resourceVersion"] == claim["metadata"]["resourceVersion"]:
                return False  # our own write has not been heard of yet
            if volumes.selected_node(now) != node:
                raise VolumesLost(f'provisioning failed for PVC "{claim["metadata"]["name"]}"')
            if not volumes.is_bound(now):
                return False
        return True

    def service_selector(self, pod: PodInfo) -> Selector:
        """The pods that belong together with this one by its Services."""
        own = self._of_services(pod)
        return Selector(tuple(Requirement(key, "=", (own[key],)) for key in sorted(own)))

    def _of_services(self, pod: PodInfo) -> dict[str, str]:
        own: dict[str, str] = {}
        for service in self.services.get(pod.namespace, {}).values():
            chosen = service["spec"].get("selector")
            if chosen and all(pod.labels.get(key) == value for key, value in chosen.items()):
                own.update(chosen)
        return own

    def default_selector(self, pod: PodInfo) -> Selector:
        """The pods that belong together with this one: by its Services and its controller."""
        own = self._of_services(pod)
        requirements = [Requirement(key, "=", (value,)) for key, value in own.items()]
        owner = next((each for each in pod.obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
        if owner is not None:
            requirements = self._with_owner(pod.namespace, owner, own, requirements)
        return Selector(tuple(sorted(requirements, key=lambda each: each.key)))

    def _with_owner(
        self, namespace: str, owner: Obj, own: dict[str, str], requirements: list[Requirement]
    ) -> list[Requirement]:
        kind, name = (owner.get("apiVersion", ""), owner.get("kind", "")), owner.get("name", "")
        if kind == ("v1", "ReplicationController"):
            found = self.replication_controllers.get(namespace, {}).get(name)
            if found is None:
                return requirements
            merged = {**own, **(found["spec"].get("selector") or {})}
            return [Requirement(key, "=", (value,)) for key, value in merged.items()]
        owners = {("apps/v1", "ReplicaSet"): self.replica_sets, ("apps/v1", "StatefulSet"): self.stateful_sets}.get(kind)
        found = owners.get(namespace, {}).get(name) if owners is not None else None
        if found is None:
            return requirements
        return [*requirements, *selector_of(found["spec"].get("selector")).requirements]


def _key(claim: Obj) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def _enough(place: Obj, size: Quantity) -> bool:
    most = place.get("maximumVolumeSize") or place.get("capacity")
    return most is not None and quantity.parse(most) >= size
