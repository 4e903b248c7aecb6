"""What the runtime is told of a pod's sandbox."""

from dataclasses import dataclass
from pathlib import PurePath

from tiphys.kubelet.cri import observed
from tiphys.kubelet.names import all_containers, hostname, log_folder
from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.pods.resources import pod_cgroup
from tiphys.machinery.tree import Obj

POD, CONTAINER, NODE, TARGET = 0, 1, 2, 3
_PROTOCOLS = {"TCP": 0, "UDP": 1, "SCTP": 2}


@dataclass(frozen=True, slots=True)
class HostDns:
    """The node's own resolv.conf."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    node: str
    logs: PurePath
    cgroup_root: str
    cluster_domain: str = "cluster.local"
    cluster_dns: tuple[str, ...] = ()
    host_dns: HostDns = HostDns()


def sandbox_config(pod: Obj, attempt: int, settings: Settings, handler: str = "") -> Obj:
    """`handler`: of the pod's RuntimeClass. Raises CannotMake rather than leave out what keeps the pod apart."""
    meta, spec = pod["metadata"], pod["spec"]
    if spec.get("hostUsers") is False:
        runtime = f'RuntimeClass handler "{handler}"' if handler else "runtime"
        raise CannotMake(f"can't set `spec.hostUsers: false`, {runtime} does not support user namespaces")
    labels = {
        **(meta.get("labels") or {}),
        observed.POD_NAME: meta["name"],
        observed.POD_NAMESPACE: meta["namespace"],
        observed.POD_UID: meta["uid"],
    }
    made: Obj = {
        "metadata": {"name": meta["name"], "uid": meta["uid"], "namespace": meta["namespace"], "attempt": attempt},
        "log_directory": str(log_folder(settings.logs, pod)),
        "dns_config": dns(pod, settings),
        "labels": labels,
        "annotations": dict(meta.get("annotations") or {}),
        "linux": {
            "cgroup_parent": pod_cgroup(settings.cgroup_root, pod),
            "security_context": _security(pod),
            "sysctls": {each["name"]: each["value"] for each in (spec.get("securityContext") or {}).get("sysctls") or ()},
        },
    }
    if not spec.get("hostNetwork"):
        made["hostname"] = hostname(pod, settings.node)
        made["port_mappings"] = _ports(pod)
    return made


def _ports(pod: Obj) -> list[Obj]:
    return [
        {
            "protocol": _PROTOCOLS[port.get("protocol") or "TCP"],
            "container_port": port["containerPort"],
            "host_port": port["hostPort"],
            "host_ip": port.get("hostIP") or "",
        }
        for each in all_containers(pod)
        for port in each.get("ports") or ()
        if port.get("hostPort")
    ]


def namespaces(pod: Obj, target: str = "") -> Obj:
    """`target`: the id of a container whose processes another one is to see."""
    spec = pod["spec"]
    shared = POD if spec.get("shareProcessNamespace") else CONTAINER
    made: Obj = {
        "network": NODE if spec.get("hostNetwork") else POD,
        "pid": NODE if spec.get("hostPID") else shared,
        "ipc": NODE if spec.get("hostIPC") else POD,
    }
    return {**made, "pid": TARGET, "target_id": target} if target and made["pid"] == CONTAINER else made


def _security(pod: Obj) -> Obj:
    context = pod["spec"].get("securityContext") or {}
    made: Obj = {
        "namespace_options": namespaces(pod),
        "privileged": any((each.get("securityContext") or {}).get("privileged") for each in all_containers(pod)),
        "supplemental_groups": groups(pod),
        "seccomp": {"profile_type": 0},
        "supplemental_groups_policy": groups_policy(pod),
    }
    if context.get("runAsUser") is not None:
        made["run_as_user"] = {"value": context["runAsUser"]}
        if context.get("runAsGroup") is not None:
            made["run_as_group"] = {"value": context["runAsGroup"]}
    return made


def groups(pod: Obj) -> list[int]:
    context = pod["spec"].get("securityContext") or {}
    found = list(context.get("supplementalGroups") or ())
    if context.get("fsGroup") is not None:
        found.append(context["fsGroup"])
    return found


def groups_policy(pod: Obj) -> int:
    """Whether groups of the image count too (Merge), or only those of the pod (Strict)."""
    return int((pod["spec"].get("securityContext") or {}).get("supplementalGroupsPolicy") == "Strict")


def dns(pod: Obj, settings: Settings) -> Obj:
    """By the pod's policy (pkg/kubelet/network/dns/dns.go); what its own dnsConfig says is added."""
    spec, host = pod["spec"], settings.host_dns
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    servers, searches, options = list(host.servers), list(host.searches), list(host.options)
    first = policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not spec.get("hostNetwork"))
    if policy == "None":
        servers, searches, options = [], [], []
    elif first and settings.cluster_dns:
        domain, namespace = settings.cluster_domain, pod["metadata"]["namespace"]
        servers = list(settings.cluster_dns)
        searches = [f"{namespace}.svc.{domain}", f"svc.{domain}", domain, *host.searches]
        options = ["ndots:5"]
    own = spec.get("dnsConfig") or {}
    servers = list(dict.fromkeys([*servers, *(own.get("nameservers") or ())]))
    searches = list(dict.fromkeys([*searches, *(own.get("searches") or ())]))
    named = {each.split(":", 1)[0]: each for each in options}
    for each in own.get("options") or ():
        value = each.get("value")
        named[each["name"]] = f"{each['name']}:{value}" if value else each["name"]
    return {"servers": servers, "searches": searches, "options": list(named.values())}
