"""The Service by which pods find the DNS server: one address for the cluster, and an endpoint for each node that answers. Core.

It has no selector: the server is no pod. Whether the node is still heard of, a controller tells
(controllers/node_endpoints.py). Upstream's name is kept, since clusters and tests look for it.
"""

from dataclasses import dataclass

from tiphys.api.discovery.endpointslices import PUBLISHED_BY_NODES
from tiphys.machinery.tree import Obj

NAMESPACE = "kube-system"
SERVICE = "kube-dns"


@dataclass(frozen=True, slots=True)
class Published:
    cluster_ip: str
    """The address in every pod's resolv.conf."""
    address: str
    """Where this server is reached from pods."""
    node: str
    """Names the endpoint."""


def service(what: Published) -> Obj:
    labels = {"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE, "labels": labels},
        "spec": {"type": "ClusterIP", "clusterIP": what.cluster_ip, "ports": ports},
    }


def slice_name(what: Published) -> str:
    return f"{SERVICE}-{what.node}"


def slice_(what: Published, port: int) -> Obj:
    labels = {"kubernetes.io/service-name": SERVICE, "endpointslice.kubernetes.io/managed-by": PUBLISHED_BY_NODES}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": slice_name(what), "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv6" if ":" in what.address else "IPv4",
        "ports": [{"name": "dns", "port": port, "protocol": "UDP"}, {"name": "dns-tcp", "port": port, "protocol": "TCP"}],
        "endpoints": [
            {
                "addresses": [what.address],
                "nodeName": what.node,
                "conditions": {"ready": True, "serving": True},
                # Every node asks its own server, as long as it has one: names do not depend on the link to another node.
                "hints": {"forNodes": [{"name": what.node}]},
            }
        ],
    }
