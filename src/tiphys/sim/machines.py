"""What a simulated node registers and reports."""

from ipaddress import IPv4Network
from typing import Any

from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get
from tiphys.sim import PREFIX

VERSION = "v1.36.4"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
MOST_PODS = 110

_NETWORK = IPv4Network("100.64.0.0/10")
"""Of pods; each node has 256 of it, the first of which is its own. Nobody else's: these addresses lead nowhere."""
_STEP = 256
MOST_NODES = _NETWORK.num_addresses // _STEP

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def name_of(number: int) -> str:
    return f"sim-{number}"


def own_address(number: int) -> str:
    return address(number, 0)


def address(number: int, place: int) -> str:
    """Of the pod at this place of the node, counted from 1."""
    return str(_NETWORK.network_address + number * _STEP + place + 1)


def place_of(number: int, text: str) -> int | None:
    """The reverse of `address`; None for an address of somebody else."""
    first = address(number, 0).rpartition(".")[0]
    head, _, last = text.rpartition(".")
    return int(last) - 1 if head == first else None


def node_object(number: int) -> Obj:
    name = name_of(number)
    cidr = f"{_NETWORK.network_address + number * _STEP}/24"
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        f"{PREFIX}node": "true",
    }
    spec = {"podCIDR": cidr, "podCIDRs": [cidr]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec}


def node_status(number: int, before: Obj, now: float) -> Obj:
    """All of the status, with those conditions of others that stand in `before`."""
    amounts = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": str(MOST_PODS)}
    addresses = ({"type": "InternalIP", "address": own_address(number)}, {"type": "Hostname", "address": name_of(number)})
    return {
        "addresses": list(addresses),
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": conditions(before, now),
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "sim://0",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "simulated",
            "systemUUID": "",
        },
    }


def conditions(before: Obj, now: float) -> list[Obj]:
    held = {each["type"]: each for each in get(before, ("status", "conditions")) or ()}
    stamp = times.rfc3339(now)
    told = []
    for kind, status, reason, message in _CONDITIONS:
        old = held.pop(kind, None)
        since = old["lastTransitionTime"] if old is not None and old.get("status") == status else stamp
        beat = {"lastHeartbeatTime": stamp, "lastTransitionTime": since}
        told.append({"type": kind, "status": status, **beat, "reason": reason, "message": message})
    return [*told, *held.values()]


def is_well(node: Obj) -> bool:
    """Whether the API says of it what it says of itself."""
    held = {each["type"]: each.get("status") for each in get(node, ("status", "conditions")) or ()}
    return all(held.get(kind) == status for kind, status, _, _ in _CONDITIONS)


def is_silent(node: Obj) -> bool:
    return meta.annotations(node).get(f"{PREFIX}silent") == "true"


def lease(node: Obj, now: float) -> Obj:
    name = meta.name(node)
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": meta.uid(node)}
    spec: dict[str, Any] = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, **renewal(now)}
    metadata = {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def renewal(now: float) -> Obj:
    return {"renewTime": times.rfc3339_micro(now)}
