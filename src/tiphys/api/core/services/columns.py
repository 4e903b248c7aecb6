"""The table of Services."""

from tiphys.api.core import cells
from tiphys.api.core.services import traits
from tiphys.api.kind import AGE, Column
from tiphys.machinery.tree import Obj, get


def balancer_addresses(obj: Obj) -> list[str]:
    """Where a load balancer answers, for Services and Ingresses."""
    ingresses: list[Obj] = get(obj, ("status", "loadBalancer", "ingress"), [])
    return sorted({each.get("ip") or each.get("hostname") or "" for each in ingresses} - {""})


def _cluster_ip(service: Obj, _: float) -> str:
    addresses = traits.cluster_ips(service)
    return addresses[0] if addresses else cells.NONE


def _external_ip(service: Obj, _: float) -> str:
    spec = traits.spec_of(service)
    external = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or cells.NONE
        case "LoadBalancer":
            return ",".join(balancer_addresses(service) + external) or "<pending>"
        case "ExternalName":
            return spec.get("externalName") or ""
    return cells.UNKNOWN


def _ports(service: Obj, _: float) -> str:
    told = []
    for port in traits.spec_of(service).get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort", 0) > 0 else ""
        told.append(f"{port.get('port', 0)}{node}/{port.get('protocol', '')}")
    return ",".join(told) or cells.NONE


def _selector(service: Obj, _: float) -> str:
    return cells.labels(traits.spec_of(service).get("selector"))


COLUMNS = (
    Column("Type", "spec.type"),
    Column("Cluster-IP", _cluster_ip),
    Column("External-IP", _external_ip),
    Column("Port(s)", _ports),
    AGE,
    Column("Selector", _selector, wide=True),
)
