"""The Node object of this machine (pkg/kubelet/nodestatus/setters.go, kubelet_node_status.go)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.runtime import Image
from tiphys.kubelet.node.facts import Facts
from tiphys.machinery import quantity
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj

VERSION = "v1.36.4"
_SEMANTIC = re.compile(r"v?(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)")
_NUMBERS = re.compile(r"v?(\d+(\.\d+)+)")


@dataclass(frozen=True, slots=True)
class Measured:
    facts: Facts
    pressures: Sequence[str]
    """What it is short of, as the eviction manager has found: conditions of the node that are bad."""
    problems: Sequence[str]
    """What keeps the runtime from running pods."""
    runtime: str
    images: Sequence[Image]
    port: int


def runtime_version(name: str, version: str) -> str:
    """Without what a distribution has added to the version (kuberuntime_manager.go, newRuntimeVersion)."""
    found = _SEMANTIC.fullmatch(version) or _NUMBERS.match(version)
    return f"{name}://{found[1] if found else version}"


def node_object(config: KubeletConfig, facts: Facts) -> Obj:
    """As it is registered."""
    labels = {
        "beta.kubernetes.io/arch": facts.architecture,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": facts.architecture,
        "kubernetes.io/hostname": config.node,
        "kubernetes.io/os": "linux",
        **dict(config.labels),
    }
    node: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": config.node, "labels": labels}, "spec": {}}
    spec, settings = node["spec"], config.settings
    if config.pod_cidrs:
        spec.update(podCIDR=config.pod_cidrs[0], podCIDRs=list(config.pod_cidrs))
    if settings.get("registerWithTaints"):
        spec["taints"] = settings["registerWithTaints"]
    if settings.get("providerID"):
        spec["providerID"] = settings["providerID"]
    return node


def allocatable(config: KubeletConfig, facts: Facts) -> dict[str, str]:
    """Kept back is what is reserved, and what eviction would have to free (pkg/kubelet/cm/node_container_manager_linux.go)."""
    settings, made = config.settings, capacity(config, facts)
    cpu = facts.cpus * 1000 - sum(quantity.parse(each).milli() for each in _reserved(settings, "cpu"))
    hard = settings.get("evictionHard") or {}
    memory = facts.memory - _kept_back(settings, "memory", hard.get("memory.available", "0"), facts.memory)
    disk = facts.disk - _kept_back(settings, "ephemeral-storage", hard.get("nodefs.available", "0"), facts.disk)
    made["cpu"] = str(quantity.from_milli(max(0, cpu)))
    made["memory"] = f"{max(0, memory) // 1024}Ki"
    made["ephemeral-storage"] = str(max(0, disk))
    return made


def _kept_back(settings: Obj, resource: str, threshold: str, whole: int) -> int:
    reserved = sum(quantity.parse(each).value() for each in _reserved(settings, resource))
    if threshold.endswith("%"):
        return reserved + int(whole * float(threshold[:-1]) / 100)
    return reserved + quantity.parse(threshold).value()


def _reserved(settings: Obj, resource: str) -> list[str]:
    amounts = (settings.get(name) or {} for name in ("systemReserved", "kubeReserved"))
    return [each[resource] for each in amounts if resource in each]


def capacity(config: KubeletConfig, facts: Facts) -> dict[str, str]:
    return {
        "cpu": str(facts.cpus),
        "ephemeral-storage": f"{facts.disk // 1024}Ki",
        "memory": f"{facts.memory // 1024}Ki",
        "pods": str(config.max_pods),
    }


def node_status(config: KubeletConfig, measured: Measured, before: Obj, now: float) -> Obj:
    facts = measured.facts
    return {
        "addresses": [
            *({"type": "InternalIP", "address": each} for each in config.addresses),
            {"type": "Hostname", "address": config.node},
        ],
        "capacity": capacity(config, facts),
        "allocatable": allocatable(config, facts),
        "conditions": _conditions(measured, before, now),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": measured.port}},
        "images": _images(measured.images, config.settings["nodeStatusMaxImages"]),
        "nodeInfo": {
            "architecture": facts.architecture,
            "bootID": facts.boot_id,
            "containerRuntimeVersion": measured.runtime,
            "kernelVersion": facts.kernel,
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": facts.machine_id,
            "operatingSystem": "linux",
            "osImage": facts.os_image,
            "systemUUID": facts.system_uuid,
        },
    }


def _images(images: Sequence[Image], most: int) -> list[Obj]:
    """The largest; -1: all."""
    listed = sorted(images, key=lambda each: -each.size)
    listed = listed if most < 0 else listed[:most]
    return [{"names": [*each.digests, *each.tags], "sizeBytes": each.size} for each in listed if each.tags or each.digests]


def _conditions(measured: Measured, before: Obj, now: float) -> list[Obj]:
    pressures = measured.pressures
    verdicts = [
        _pressure("MemoryPressure", "MemoryPressure" in pressures, "Memory", "memory available"),
        _disk("DiskPressure" in pressures),
        _pressure("PIDPressure", "PIDPressure" in pressures, "PID", "PID available"),
    ]
    if measured.problems:
        told = measured.problems[0] if len(measured.problems) == 1 else f"[{', '.join(measured.problems)}]"
        verdicts.append(("Ready", "False", "KubeletNotReady", told))
    else:
        verdicts.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    held = {each["type"]: each for each in (before.get("status") or {}).get("conditions") or ()}
    return [_condition(verdict, held.get(verdict[0]), now) for verdict in verdicts]


def _pressure(kind: str, scarce: bool, word: str, what: str) -> tuple[str, str, str, str]:
    if scarce:
        return kind, "True", f"KubeletHasInsufficient{word}", f"kubelet has insufficient {what}"
    return kind, "False", f"KubeletHasSufficient{word}", f"kubelet has sufficient {what}"


def _disk(scarce: bool) -> tuple[str, str, str, str]:
    if scarce:
        return "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"
    return "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"


def _condition(verdict: tuple[str, str, str, str], before: Obj | None, now: float) -> Obj:
    kind, status, reason, message = verdict
    same = before is not None and before.get("status") == status
    changed = before["lastTransitionTime"] if same and before is not None else rfc3339(now)
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": rfc3339(now),
        "lastTransitionTime": changed,
        "reason": reason,
        "message": message,
    }


def worth_writing(before: Obj, status: Obj) -> bool:
    """Whether anything but heartbeats differs. Conditions that others keep (NetworkUnavailable) are theirs."""
    held = before.get("status") or {}
    kinds = {each["type"] for each in status["conditions"]}
    held = {**held, "conditions": [each for each in held.get("conditions") or () if each["type"] in kinds]}
    return _without_beats(status) != {key: value for key, value in _without_beats(held).items() if key in status}


def _without_beats(status: Obj) -> Obj:
    beats = [
        {key: value for key, value in each.items() if key != "lastHeartbeatTime"} for each in status.get("conditions") or ()
    ]
    return {**status, "conditions": sorted(beats, key=lambda each: str(each["type"]))}
