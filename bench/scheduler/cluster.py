"""Nodes that nobody runs and pods that nobody starts: what a scheduler needs to be busy."""

from tiphys.machinery.tree import Obj

NAMESPACE = "bench-scheduler"
PRIORITY = "bench-high"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = 10


def node(number: int, cpu: str = "32", memory: str = "64Gi", pods: str = "110") -> Obj:
    name = f"bench-node-{number}"
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: f"zone-{number % ZONES}"}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def plain(number: int, cpu: str = "100m") -> Obj:
    """As upstream's scheduler_perf has them: 100m CPU and 500Mi memory each."""
    spec: Obj = {
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        # Nobody watches over these nodes, so somebody may think them ill.
        "tolerations": [{"operator": "Exists"}],
        "containers": [
            {"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": cpu, "memory": "500Mi"}}}
        ],
    }
    metadata = {"name": f"bench-{number}", "namespace": NAMESPACE, "labels": {"color": "blue"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def on_a_node(pod: Obj, number: int, nodes: int) -> Obj:
    """One that is there before anything is measured."""
    pod["metadata"]["name"] = f"there-{number}"
    pod["spec"]["nodeName"] = f"bench-node-{number % nodes}"
    return pod


def device_class() -> Obj:
    spec = {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "bench-gpu"}, "spec": spec}


def devices(number: int, count: int) -> Obj:
    """What a node offers."""
    name = f"bench-node-{number}"
    listed = [{"name": f"gpu-{at}", "attributes": {"size": {"int": 40}}} for at in range(count)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": listed}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def claim(number: int) -> Obj:
    large = {"cel": {"expression": 'device.attributes["gpu.example.com"].size > 20'}}
    request = {"name": "one", "exactly": {"deviceClassName": "bench-gpu", "selectors": [large]}}
    metadata = {"name": f"bench-{number}", "namespace": NAMESPACE}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def hopeless(number: int) -> Obj:
    pod = plain(number, cpu="900")
    pod["metadata"]["name"] = f"hopeless-{number}"
    return pod
