"""Clusters made by chance, each with one pod that wants a node: what two schedulers must say the same of.

A number makes the same scene everywhere. Each has a theme, of which it has plenty ([chance.py](chance.py)); the objects are as
an API server would have stored them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.scheduler.scenes import finer_devices, nodes, pods
from bench.scheduler.scenes.between_pods import APPS, NAMESPACES
from bench.scheduler.scenes.chance import EARLIER, LATER, THEMES, Chance
from bench.scheduler.scenes.devices import Devices
from bench.scheduler.scenes.storage import Storage
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.namespaces import NAMESPACES as NAMESPACE_KIND
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.api.kind import Kind
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.api.storage.csidrivers import CSIDRIVERS
from tiphys.api.storage.csinodes import CSINODES
from tiphys.api.storage.csistoragecapacities import CSISTORAGECAPACITIES
from tiphys.api.storage.storageclasses import STORAGECLASSES
from tiphys.api.storage.volumeattachments import VOLUMEATTACHMENTS
from tiphys.machinery.tree import Obj

COUNT = EARLIER + 600


@dataclass(slots=True)
class Scene:
    number: int
    theme: str
    pod: Obj
    """Which wants a node."""
    others: list[tuple[Kind, Obj]] = field(default_factory=list)
    """Everything else, in the order in which it has to be made."""

    def of(self, kind: Kind) -> list[Obj]:
        return [obj for each, obj in self.others if each is kind]


def numbers(theme: str) -> range:
    """Of the scenes that are about it."""
    if theme in THEMES:
        return range(list(THEMES).index(theme), EARLIER, len(THEMES))
    first = next(each for each in range(EARLIER, COUNT) if Chance(each).theme == theme)
    return range(first, COUNT, len(LATER))


def make(number: int) -> Scene:
    chance = Chance(number)
    count = chance.between(3, 9)
    storage, devices = Storage(chance, count), Devices(chance, count)
    made_nodes = [nodes.node(chance, at) for at in range(count)]
    if not chance.is_early:
        finer_devices.make_room(chance, made_nodes)
    others = [
        pods.pod(chance, f"pod-{at}") for at in range(chance.below(4 * count) + (count if chance.often("crowded") else 0))
    ]
    ports: set[tuple[str, str, int]] = set()
    for each in others:
        storage.give(each)
        devices.give(each)
        if chance.often("nominated") and chance.one_in(5):
            each["spec"].pop("schedulingGates", None)
            each["status"]["nominatedNodeName"] = nodes.name(chance.below(count))
        else:
            pods.placed(chance, each, nodes.name(chance.below(count)), ports)
            devices.settle(each)
    wanted = pods.pod(chance, "wanted")
    storage.give(wanted)
    devices.give(wanted)
    if chance.often("priorities"):
        wanted["spec"]["priority"] = chance.pick((100, 1000, 5000))
    if chance.has("nominated"):
        wanted["status"]["nominatedNodeName"] = nodes.name(chance.below(count))
    if chance.has("named node") and chance.is_early:
        wanted["spec"]["nodeName"] = nodes.name(chance.below(count))
    scene = Scene(number, chance.theme, stored(PODS, wanted))
    listed: list[tuple[Kind, list[Obj]]] = [
        (NAMESPACE_KIND, [_namespace(title, labels) for title, labels in NAMESPACES.items()]),
        (STORAGECLASSES, storage.classes),
        (CSIDRIVERS, storage.drivers),
        (NODES, made_nodes),
        (CSINODES, storage.csi_nodes),
        (CSISTORAGECAPACITIES, storage.capacities),
        (PERSISTENT_VOLUMES, storage.volumes),
        (PERSISTENT_VOLUME_CLAIMS, storage.claims),
        (VOLUMEATTACHMENTS, storage.attachments()),
        (DEVICECLASSES, devices.classes),
        (RESOURCESLICES, devices.slices),
        (RESOURCECLAIMS, devices.claims),
        (SERVICES, list(_services(chance))),
        (REPLICASETS, [_replica_set(each) for each in APPS] if chance.often("owner") else []),
        (PODDISRUPTIONBUDGETS, list(_budgets(chance))),
        (PODS, others),
    ]
    scene.others = [(kind, stored(kind, each)) for kind, objects in listed for each in objects]
    return scene


def stored(kind: Kind, obj: Obj) -> Obj:
    """As the API server keeps it."""
    obj["metadata"].setdefault("uid", f"uid-{kind.plural}-{obj['metadata']['name']}")
    obj["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
    obj["metadata"].setdefault("resourceVersion", "1")
    kind.default(obj)
    status = obj.get("status")
    kind.prepare_create(obj)
    if status is not None:
        obj["status"] = status
    return obj


def _namespace(title: str, labels: dict[str, str]) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": title, "labels": labels},
        "status": {"phase": "Active"},
    }


def _services(chance: Chance) -> Iterator[Obj]:
    for app in APPS:
        if chance.has("service"):
            spec = {"selector": {"app": app}, "ports": [{"port": 80}], "clusterIP": "None"}
            metadata = {"name": app, "namespace": "default"}
            yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _replica_set(app: str) -> Obj:
    labels = {"app": app, "track": "stable"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "one:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": app, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def _budgets(chance: Chance) -> Iterator[Obj]:
    for app in APPS:
        if chance.has("budgets"):
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": app, "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
                "status": {
                    "disruptionsAllowed": chance.below(3),
                    "currentHealthy": 3,
                    "desiredHealthy": 1,
                    "expectedPods": 3,
                    "disruptedPods": {f"pod-{chance.below(10)}": "2026-01-01T00:00:00Z"} if chance.one_in(4) else {},
                },
            }
