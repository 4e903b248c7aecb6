"""Claims and volumes of a scene, and what is known of drivers on its nodes."""

from bench.scheduler.scenes.chance import Chance
from bench.scheduler.scenes.nodes import HOST, OLD_ZONE, REGION, ZONE, name
from tiphys.machinery.tree import Obj

DRIVER, OTHER_DRIVER, COUNTED_DRIVER = "disks.example.com", "files.example.com", "counted.example.com"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
CLASSES: dict[str, Obj] = {
    "now": {"provisioner": DRIVER, "volumeBindingMode": "Immediate"},
    "later": {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
    "files": {"provisioner": OTHER_DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
    "local": {"provisioner": NO_PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"},
    "zonal": {
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}],
    },
    "counted": {"provisioner": COUNTED_DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
}
SIZES = ("1Gi", "5Gi", "10Gi")


class Storage:
    """Grows as pods ask for volumes."""

    def __init__(self, chance: Chance, nodes: int) -> None:
        self._chance = chance
        self._nodes = nodes
        self.claims: list[Obj] = []
        self.volumes: list[Obj] = []
        self.capacities: list[Obj] = []
        self.wanted = any(map(chance.often, ("bound claims", "open claims", "disks", "limits")))
        self.classes = [self._class(each, shape) for each, shape in CLASSES.items()] if self.wanted else []
        self.drivers = [_driver(each) for each in (DRIVER, COUNTED_DRIVER)] if self.wanted else []
        self.csi_nodes = [self._csi_node(at) for at in range(nodes)] if chance.often("limits") else []
        if chance.often("capacities"):
            self.capacities = [self._capacity(at) for at in range(chance.below(4))]
        for _ in range(chance.below(6) if chance.often("open claims") else 0):
            self._volume("local", f"spare-{len(self.volumes)}")

    def give(self, pod: Obj) -> None:
        """Some volumes to a pod, perhaps."""
        chance, found = self._chance, []
        for feature, make in (("bound claims", self._bound), ("open claims", self._open), ("disks", self._disk)):
            for _ in range(chance.between(1, 2) if self.wanted and chance.has(feature) else 0):
                volume = make(pod)
                found.append({"name": f"v{len(found)}", **volume})
        if found:
            pod["spec"]["volumes"] = found

    def attachments(self) -> list[Obj]:
        """Volumes that some node has, or still has: their pods need not be there."""
        chance = self._chance
        if not chance.often("limits"):
            return []
        return [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": f"attached-{at}"},
                "spec": {
                    "attacher": (each["spec"].get("csi") or {}).get("driver", "ebs.csi.aws.com"),
                    "nodeName": name(chance.below(self._nodes)),
                    "source": {"persistentVolumeName": each["metadata"]["name"]},
                },
                "status": {"attached": True},
            }
            for at, each in enumerate(self.volumes)
            if chance.one_in(2)
        ]

    def _class(self, title: str, shape: Obj) -> Obj:
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": title},
            "reclaimPolicy": "Delete",
            **shape,
        }

    def _bound(self, pod: Obj) -> Obj:
        """A claim that has its volume; now and then one that other pods use too, or that something is wrong with."""
        chance, namespace = self._chance, pod["metadata"]["namespace"]
        mine = [each for each in self.claims if each["metadata"]["namespace"] == namespace]
        if mine and chance.one_in(3):
            return _use(chance.pick(mine))
        claim = self._claim(namespace, chance.pick(("now", "later")))
        if chance.one_in(12):
            return _use(claim)
        volume = self._volume(claim["spec"]["storageClassName"], f"pv-{len(self.volumes)}")
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        claim["status"] = {"phase": "Bound"}
        volume["spec"]["claimRef"] = {
            "namespace": namespace,
            "name": claim["metadata"]["name"],
            "uid": claim["metadata"]["uid"],
        }
        volume["status"] = {"phase": "Bound"}
        if chance.one_in(15):
            self.volumes.remove(volume)
            claim["status"] = {"phase": chance.pick(("Bound", "Lost"))}
        if chance.one_in(25):
            return {"persistentVolumeClaim": {"claimName": "nowhere"}}
        return _use(claim)

    def _open(self, pod: Obj) -> Obj:
        """A claim for which a volume is found, or made, once its pod has a node."""
        chance, meta = self._chance, pod["metadata"]
        made = {each["metadata"]["name"] for each in self.claims}
        title = chance.pick(("later", "local", "local", "zonal", "counted", "files"))
        own = f"{meta['name']}-v{chance.below(2)}"
        if chance.one_in(6) and own not in made:
            claim = self._claim(meta["namespace"], title)
            claim["metadata"]["name"] = own
            # Pods that run have their own.
            if meta["name"] != "wanted" or not chance.one_in(4):
                owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
                claim["metadata"]["ownerReferences"] = [owner]
            template = {"spec": {key: claim["spec"][key] for key in ("accessModes", "resources", "storageClassName")}}
            return {"ephemeral": {"volumeClaimTemplate": template}}
        claim = self._claim(meta["namespace"], title)
        if chance.one_in(10):
            claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": name(chance.below(self._nodes))}
        if title == "local" and chance.one_in(6):
            claim["spec"]["selector"] = {"matchLabels": {"kind": "fast"}}
        return _use(claim)

    def _disk(self, _: Obj) -> Obj:
        """Volumes that are named in the pod itself."""
        chance, reading = self._chance, {"readOnly": True} if self._chance.one_in(2) else {}
        number = chance.below(2)
        return chance.pick(
            (
                {"gcePersistentDisk": {"pdName": f"disk-{number}", **reading}},
                {"awsElasticBlockStore": {"volumeID": f"vol-{number}", **reading}},
                {"iscsi": {"targetPortal": "10.0.0.9", "iqn": f"iqn.2001-04.com.example:{number}", "lun": 0, **reading}},
                {"rbd": {"monitors": ["m1", f"m{number}"], "image": f"image-{chance.below(2)}", **reading}},
                {"emptyDir": {}},
            )
        )

    def _claim(self, namespace: str, storage_class: str) -> Obj:
        chance, title = self._chance, f"claim-{len(self.claims)}"
        modes = ["ReadWriteOncePod"] if chance.has("once") else ["ReadWriteOnce"]
        claim: Obj = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": title, "namespace": namespace, "uid": f"uid-{title}"},
            "spec": {
                "accessModes": modes,
                "storageClassName": storage_class,
                "resources": {"requests": {"storage": chance.pick(SIZES)}},
            },
            "status": {"phase": "Pending"},
        }
        if chance.one_in(40):
            claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
            claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
        self.claims.append(claim)
        return claim

    def _volume(self, storage_class: str, title: str) -> Obj:
        chance = self._chance
        labels = {"kind": chance.pick(("fast", "slow"))}
        source: Obj = {"csi": {"driver": chance.pick((DRIVER, DRIVER, OTHER_DRIVER)), "volumeHandle": f"handle-{title}"}}
        if storage_class == "local":
            source = {"local": {"path": "/data"}}
        elif chance.has("migrated"):
            source = {"awsElasticBlockStore": {"volumeID": f"vol-{title}"}}
        spec: Obj = {
            "capacity": {"storage": chance.pick(SIZES)},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Delete",
            **source,
        }
        if storage_class == "local":
            terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [name(chance.below(self._nodes))]}]}]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        elif chance.one_in(3):
            terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": chance.some(("a", "b"))}]}]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        if chance.has("zones of volumes"):
            labels[chance.pick((ZONE, ZONE, OLD_ZONE))] = chance.pick(("a", "b", "a__b"))
        if chance.has("zones of volumes") and chance.one_in(2):
            labels[REGION] = chance.pick(("north", "south"))
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": title, "uid": f"uid-{title}", "labels": labels},
            "spec": spec,
            "status": {"phase": "Available"},
        }
        self.volumes.append(volume)
        return volume

    def _csi_node(self, number: int) -> Obj:
        chance, drivers = self._chance, []
        for each in (DRIVER, OTHER_DRIVER, "ebs.csi.aws.com"):
            if not chance.one_in(4):
                driver: Obj = {"name": each, "nodeID": name(number), "topologyKeys": []}
                if not chance.one_in(4):
                    driver["allocatable"] = {"count": chance.between(0, 3)}
                drivers.append(driver)
        metadata: Obj = {"name": name(number), "uid": f"uid-csi-{number}"}
        if chance.has("migrated"):
            metadata["annotations"] = {
                "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"
            }
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}

    def _capacity(self, number: int) -> Obj:
        chance = self._chance
        topology: Obj = chance.pick(({"matchLabels": {ZONE: "a"}}, {"matchLabels": {ZONE: "b"}}, {}))
        made: Obj = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"capacity-{number}", "namespace": "default"},
            "storageClassName": "counted",
            "nodeTopology": topology,
            "capacity": chance.pick(("2Gi", "20Gi")),
        }
        if chance.one_in(3):
            made["maximumVolumeSize"] = "3Gi"
        return made


def _driver(title: str) -> Obj:
    spec = {"attachRequired": True, "podInfoOnMount": False, "storageCapacity": title == COUNTED_DRIVER}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": title}, "spec": spec}


def _use(claim: Obj) -> Obj:
    return {"persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
