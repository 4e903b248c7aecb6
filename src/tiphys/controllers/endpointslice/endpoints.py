"""From a pod to its endpoint: addresses, ports, conditions, hints."""

import ipaddress
from typing import Any

from tiphys.api.core.pods import facts
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

ZONE = "topology.kubernetes.io/zone"
_CLOSE = frozenset(("PreferClose", "PreferSameZone"))
_SAME_NODE = "PreferSameNode"


def belongs(pod: Obj) -> bool:
    """Pods without an address, or that are done, stand for nothing; those on their way out are told as terminating."""
    return not facts.is_finished(pod) and bool(get(pod, ("status", "podIPs")))


def addresses(pod: Obj, family: str) -> list[str]:
    found = []
    for each in get(pod, ("status", "podIPs")) or ():
        address = ipaddress.ip_address(each["ip"])
        if f"IPv{address.version}" == family:
            found.append(str(address))
    return found


def endpoint(pod: Obj, node: Obj | None, service: Obj, family: str) -> Obj:
    serving = facts.is_ready(pod)
    terminating = meta.is_deleting(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    made: Obj = {
        "addresses": addresses(pod, family),
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {
            "kind": "Pod",
            "namespace": meta.namespace(pod),
            "name": meta.name(pod),
            "uid": meta.uid(pod),
        },
    }
    node_name = pod["spec"].get("nodeName")
    if node_name:
        made["nodeName"] = node_name
    zone = meta.labels(node).get(ZONE) if node is not None else None
    if zone:
        made["zone"] = zone
    hostname = pod["spec"].get("hostname")
    if hostname and pod["spec"].get("subdomain") == meta.name(service) and meta.namespace(pod) == meta.namespace(service):
        made["hostname"] = hostname
    hints = _hints(service, made)
    if hints:
        made["hints"] = hints
    return made


def _hints(service: Obj, made: Obj) -> Obj:
    """Whom an endpoint should serve, where the Service prefers what is near."""
    wish = service["spec"].get("trafficDistribution")
    if not made["conditions"]["ready"] or (wish not in _CLOSE and wish != _SAME_NODE):
        return {}
    hints: Obj = {}
    if made.get("zone"):
        hints["forZones"] = [{"name": made["zone"]}]
    if wish == _SAME_NODE and made.get("nodeName"):
        hints["forNodes"] = [{"name": made["nodeName"]}]
    return hints


def ports(service: Obj, pod: Obj) -> list[Obj]:
    found: list[Obj] = []
    for each in service["spec"].get("ports") or ():
        number = port_number(pod, each)
        if number is None:
            continue
        port: Obj = {"name": each.get("name", ""), "port": number, "protocol": each.get("protocol", "TCP")}
        if each.get("appProtocol") is not None:
            port["appProtocol"] = each["appProtocol"]
        found.append(port)
    return found


def port_number(pod: Obj, port: Obj) -> int | None:
    """A port by name is looked up in the pod, among the containers that run as long as it does."""
    target: Any = port.get("targetPort")
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
    for container in (*(spec.get("containers") or ()), *sidecars):
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port.get("protocol", "TCP"):
                number: int = each["containerPort"]
                return number
    return None


def identity(made: Obj) -> tuple[Any, ...]:
    """Two endpoints of one identity are the same one, whatever its conditions."""
    target = made.get("targetRef") or {}
    return (
        tuple(sorted(made["addresses"])),
        made.get("hostname", ""),
        made.get("nodeName", ""),
        target.get("namespace", ""),
        target.get("name", ""),
        target.get("uid", ""),
    )


def port_key(listed: list[Obj] | None) -> tuple[Any, ...]:
    """Slices hold endpoints with the same ports."""
    return tuple(
        sorted(
            (each.get("name") or "", each.get("port") or 0, each.get("protocol") or "", each.get("appProtocol") or "")
            for each in listed or ()
        )
    )
