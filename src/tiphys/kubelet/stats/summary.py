"""The Summary of a node (staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go)."""

from collections.abc import Iterable, Sequence

from tiphys.kubelet.stats.figures import ContainerUse, Disk, Interface, NodeUse, PodUse, Use
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj


def summary(node: NodeUse, pods: Iterable[PodUse], *, only_cpu_and_memory: bool = False) -> Obj:
    told: Obj = {"nodeName": node.name, "startTime": rfc3339(node.started_at)}
    if not only_cpu_and_memory:
        told["systemContainers"] = [_container(each) for each in node.system]
    told |= _shared(node.use, node.nanocores, node.memory_capacity)
    if not only_cpu_and_memory:
        told |= {
            "network": _network(node.interfaces, node.use.at),
            "fs": _disk(node.disk),
            "runtime": {"imageFs": _disk(node.image_disk), "containerFs": _disk(node.image_disk)},
            "rlimit": {"time": rfc3339(node.use.at), "maxpid": node.most_processes, "curproc": node.processes},
        }
    return {"node": told, "pods": [_pod(each, short=only_cpu_and_memory) for each in pods]}


def _pod(found: PodUse, *, short: bool) -> Obj:
    meta = found.pod["metadata"]
    told: Obj = {
        "podRef": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
        "startTime": rfc3339(found.started_at),
        "containers": [_container(each, short=short) for each in found.containers],
        **_shared(found.use, found.nanocores, found.use.memory_limit),
    }
    if short:
        return told
    if found.interfaces:
        told["network"] = _network(found.interfaces, found.use.at)
    claims = {each["name"]: each.get("persistentVolumeClaim") for each in found.pod["spec"].get("volumes") or ()}
    volumes = [
        {"name": name, **_disk(disk), **_claim(claims.get(name), meta["namespace"])} for name, disk in found.volumes.items()
    ]
    if volumes:
        told["volume"] = volumes
    parts = [each for one in found.containers for each in (one.rootfs, one.logs) if each is not None]
    parts += [disk for name, disk in found.volumes.items() if not claims.get(name)]
    if parts:
        told["ephemeral-storage"] = _disk(_together(parts))
    told["process_stats"] = {"process_count": found.use.processes}
    return told


def _claim(claim: Obj | None, namespace: str) -> Obj:
    return {} if claim is None else {"pvcRef": {"name": claim["claimName"], "namespace": namespace}}


def _container(found: ContainerUse, *, short: bool = False) -> Obj:
    told: Obj = {"name": found.name, "startTime": rfc3339(found.started_at)}
    told |= _shared(found.use, found.nanocores, found.use.memory_limit)
    if not short:
        told |= {name: _disk(disk) for name, disk in (("rootfs", found.rootfs), ("logs", found.logs)) if disk is not None}
    return told


def _shared(use: Use, nanocores: int, limit: int) -> Obj:
    at = rfc3339(use.at)
    memory: Obj = {
        "time": at,
        "usageBytes": use.memory,
        "workingSetBytes": use.working_set,
        "rssBytes": use.rss,
        "pageFaults": use.faults,
        "majorPageFaults": use.major_faults,
    }
    if limit:
        memory["availableBytes"] = max(0, limit - use.working_set)
    return {
        "cpu": {"time": at, "usageNanoCores": nanocores, "usageCoreNanoSeconds": use.cpu},
        "memory": memory,
        "swap": {"time": at, "swapUsageBytes": use.swap},
    }


def _network(interfaces: Sequence[Interface], at: float) -> Obj:
    told = [
        {
            "name": each.name,
            "rxBytes": each.received,
            "rxErrors": each.receive_errors,
            "txBytes": each.sent,
            "txErrors": each.send_errors,
        }
        for each in interfaces
    ]
    default = next((each for each in told if each["name"] == "eth0"), told[0] if told else {"name": ""})
    return {"time": rfc3339(at), **default, "interfaces": told}


def _disk(disk: Disk) -> Obj:
    return {
        "time": rfc3339(disk.at),
        "availableBytes": disk.available,
        "capacityBytes": disk.capacity,
        "usedBytes": disk.used,
        "inodesFree": disk.inodes_free,
        "inodes": disk.inodes,
        "inodesUsed": disk.inodes_used,
    }


def _together(parts: Sequence[Disk]) -> Disk:
    first = parts[0]
    used, inodes = sum(each.used for each in parts), sum(each.inodes_used for each in parts)
    return Disk(first.at, first.available, first.capacity, used, first.inodes_free, first.inodes, inodes)
