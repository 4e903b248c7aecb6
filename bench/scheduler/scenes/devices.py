"""Devices of a scene: what nodes offer, which kinds there are, and the claims of pods."""

from bench.scheduler.scenes import finer_devices
from bench.scheduler.scenes.chance import Chance
from bench.scheduler.scenes.nodes import ZONE, name
from tiphys.machinery.tree import Obj

DRIVERS = ("gpu.example.com", "nic.example.com")
CLASSES: dict[str, tuple[str, ...]] = {
    "gpu": ('device.driver == "gpu.example.com"',),
    "nic": ('device.driver == "nic.example.com"',),
    "large": ('device.driver == "gpu.example.com"', 'device.attributes["gpu.example.com"].size >= 40'),
    "any": (),
}
SELECTORS = (
    'device.attributes["gpu.example.com"].model == "a"',
    'has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model in ["b", "c"]',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("20Gi")) >= 0',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.5.0"))',
    'device.driver.startsWith("gpu") ? device.attributes["gpu.example.com"].healthy : true',
)


class Devices:
    """Grows as pods ask for devices."""

    def __init__(self, chance: Chance, nodes: int) -> None:
        self._chance = chance
        self.claims: list[Obj] = []
        self.slices: list[Obj] = []
        self.classes: list[Obj] = []
        self._free: list[tuple[str, str, str, str]] = []
        self._devices: dict[tuple[str, str, str], Obj] = {}
        self._nodes = nodes
        if not chance.often("devices"):
            return
        titles = [each for each in CLASSES if not chance.one_in(10 if chance.is_early else 60)]
        self.classes = [_class(each) for each in titles]
        if not chance.is_early:
            finer_devices.set_up(chance, self.classes)
        if chance.abounds("behind"):
            for each in self.classes:
                if not chance.one_in(4):
                    each["spec"]["extendedResourceName"] = finer_devices.BEHIND[each["metadata"]["name"]]
        for at in range(nodes):
            if not chance.one_in(4):
                self._slice(f"local-{at}", {"nodeName": name(at)}, chance.pick(DRIVERS), name(at))
        if chance.one_in(2):
            term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
            self._slice("zone-a", {"nodeSelector": {"nodeSelectorTerms": [term]}}, DRIVERS[1], "")
        if chance.one_in(3):
            self._slice("everywhere", {"allNodes": True}, DRIVERS[0], "")

    def _slice(self, title: str, place: Obj, driver: str, node: str) -> None:
        chance = self._chance
        devices = [self._device(at, driver) for at in range(chance.between(1, 3) if chance.is_early else chance.between(3, 6))]
        pool = {"name": title, "generation": 1, "resourceSliceCount": 2 if chance.one_in(12) else 1}
        spec = {"driver": driver, "pool": pool, "devices": devices, **place}
        specs = [spec]
        if chance.abounds("partitions"):
            if chance.one_in(2):
                specs = finer_devices.counters(chance, spec)
            if chance.one_in(3):
                finer_devices.spread(chance, spec, self._nodes)
        for at, each in enumerate(specs):
            metadata = {"name": f"{title}-{driver}{f'-{at}' if at else ''}"}
            self.slices.append(
                {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": each}
            )
        for device in devices:
            place_of = device.get("nodeName", "") if spec.get("perDeviceNodeSelection") else node
            self._free.append((driver, title, device["name"], place_of))
            self._devices[driver, title, device["name"]] = device

    def _device(self, number: int, driver: str) -> Obj:
        chance = self._chance
        device: Obj = {
            "name": f"device-{number}",
            "attributes": {
                "size": {"int": chance.pick((20, 40, 80))},
                "version": {"version": chance.pick(("1.2.0", "1.10.1", "2.0.0"))},
                "healthy": {"bool": not chance.one_in(5)},
                "example.com/rack": {"string": chance.pick(("left", "right"))},
            },
            "capacity": {"memory": {"value": chance.pick(("10Gi", "40Gi"))}},
        }
        if driver == DRIVERS[0]:
            device["attributes"]["model"] = {"string": chance.pick(("a", "b", "c"))}
        if chance.one_in(6):
            effect = chance.pick(("NoSchedule", "NoExecute"))
            device["taints"] = [{"key": "worn", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}]
        if chance.abounds("shares") and not chance.one_in(4):
            finer_devices.share(chance, device)
        if chance.abounds("conditions") and chance.one_in(2):
            finer_devices.condition(chance, device)
        return device

    def give(self, pod: Obj) -> None:
        """Some claims to a pod, perhaps."""
        chance, meta = self._chance, pod["metadata"]
        if chance.abounds("behind") and meta["name"] == "wanted":
            finer_devices.starters(chance, pod)
            finer_devices.ask_for_resources(chance, pod)
            if chance.one_in(20):
                self.claims.append(finer_devices.left_over(pod))
        if not self.slices or not (chance.has("devices") or (meta["name"] == "wanted" and not chance.is_early)):
            return
        listed: list[Obj] = []
        for at in range(chance.between(1, 2)):
            mine = [each for each in self.claims if each["metadata"]["namespace"] == meta["namespace"]]
            if mine and chance.one_in(5):
                claim = chance.pick(mine)
            else:
                claim = self._claim(meta["namespace"])
            named = "nowhere" if meta["name"] == "wanted" and chance.one_in(25) else claim["metadata"]["name"]
            listed.append({"name": f"r{at}", "resourceClaimName": named})
        pod["spec"]["resourceClaims"] = listed

    def settle(self, pod: Obj) -> None:
        """A pod that runs has what it asked for, where there is still something."""
        chance = self._chance
        names = {each["resourceClaimName"] for each in pod["spec"].get("resourceClaims", ())}
        for claim in self.claims:
            if claim["metadata"]["name"] in names and "status" not in claim:
                here = [each for each in self._free if each[3] in ("", pod["spec"].get("nodeName"))]
                if here:
                    self._allocate(claim, chance.pick(here), pod)

    def _allocate(self, claim: Obj, device: tuple[str, str, str, str], pod: Obj) -> None:
        driver, pool, title, node = device
        tree = self._devices[driver, pool, title]
        if not tree.get("allowMultipleAllocations"):
            self._free.remove(device)
        request = claim["spec"]["devices"]["requests"][0]
        result = {"request": request["name"], "driver": driver, "pool": pool, "device": title}
        if request.get("firstAvailable"):
            result["request"] += f"/{request['firstAvailable'][0]['name']}"
        result |= finer_devices.result(tree, {})
        allocation: Obj = {"devices": {"results": [result]}}
        if node:
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": fields}]}
        user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        claim["status"] = {"allocation": allocation, "reservedFor": [] if self._chance.one_in(5) else [user]}
        if self._chance.abounds("conditions"):
            finer_devices.told(self._chance, claim)

    def _claim(self, namespace: str) -> Obj:
        chance = self._chance
        requests = [self._request(f"q{at}") for at in range(1 if chance.one_in(1.5) else 2)]
        devices: Obj = {"requests": requests}
        if chance.one_in(4):
            kind = chance.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
            devices["constraints"] = [{kind: chance.pick(("example.com/rack", "gpu.example.com/size"))}]
        if not chance.is_early:
            finer_devices.refine(chance, devices)
        metadata = {"name": f"devices-{len(self.claims)}", "namespace": namespace}
        claim: Obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
        claim["spec"] = {"devices": devices}
        self.claims.append(claim)
        return claim

    def _request(self, title: str) -> Obj:
        chance = self._chance
        if chance.one_in(4):
            alternatives = [{"name": f"s{at}", **self._wanted()} for at in range(2)]
            return {"name": title, "firstAvailable": alternatives}
        exactly = self._wanted()
        if chance.one_in(12):
            exactly["adminAccess"] = True
        return {"name": title, "exactly": exactly}

    def _wanted(self) -> Obj:
        chance = self._chance
        title = chance.pick(("gpu", "gpu", "nic", "any"))
        wanted: Obj = {"deviceClassName": title}
        if title == "gpu":
            wanted["deviceClassName"] = chance.pick(("gpu", "large"))
            if chance.one_in(2):
                wanted["selectors"] = [{"cel": {"expression": chance.pick(SELECTORS)}}]
        if chance.one_in(6):
            wanted["allocationMode"] = "All"
        elif chance.one_in(3):
            wanted["count"] = 2
        if chance.one_in(4):
            wanted["tolerations"] = [{"key": "worn", "operator": "Exists"}]
        if chance.abounds("shares") and chance.one_in(1.5):
            finer_devices.portion(chance, wanted)
        return wanted


def _class(title: str) -> Obj:
    selectors = [{"cel": {"expression": each}} for each in CLASSES[title]]
    metadata = {"name": title}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": metadata,
        "spec": {"selectors": selectors} if selectors else {},
    }
