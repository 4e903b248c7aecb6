"""Services in a cluster: Endpoints and their mirror, load balancers of plain machines, ranges of addresses.

v1.36.4 pkg/controller/endpoint, endpointslicemirroring, servicecidrs; staging/src/k8s.io/cloud-provider/controllers/service.
"""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.core.endpoints import ENDPOINTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.networking.servicecidrs import SERVICE_CIDRS
from tiphys.controllers import conditions
from tiphys.controllers.registry import Settings, controllers
from tiphys.dns import publish
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get


def every() -> list[Any]:
    return controllers(Settings())


def service(name: str, selector: dict[str, str] | None = None, **spec: Any) -> Obj:
    whole: Obj = {"ports": [{"port": 80, "targetPort": 8080}], **spec}
    if selector is not None:
        whole["selector"] = selector
    metadata = {"name": name, "namespace": "default", "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": whole}


def endpoints(name: str, *addresses: str, **metadata: Any) -> Obj:
    subsets = [{"addresses": [{"ip": each} for each in addresses], "ports": [{"port": 9000, "name": "p"}]}]
    given = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": given, "subsets": subsets}


async def node(cluster: Cluster, name: str, address: str, ready: str = "True", **labels: str) -> None:
    metadata = {"name": name, "labels": labels}
    await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "conditions": [{"type": "Ready", "status": ready, "reason": "x", "message": "x"}],
    }
    await cluster.patch(NODES, name, {"status": status}, "status")


async def pod(cluster: Cluster, name: str, address: str, ready: str = "True", on: str = "n") -> None:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    spec = {"nodeName": on, "containers": [{"name": "c", "image": "x"}]}
    await cluster.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    status = {"podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": ready}]}
    await cluster.patch(PODS, f"default/{name}", {"status": {"phase": "Running", **status}}, "status")


async def slices(cluster: Cluster, name: str) -> list[Obj]:
    found = await cluster.list(ENDPOINT_SLICES)
    return [each for each in found if meta.labels(each).get("kubernetes.io/service-name") == name]


def addresses(listed: list[Obj]) -> list[str]:
    return sorted(address for each in listed for endpoint in each.get("endpoints") or () for address in endpoint["addresses"])


def test_endpoints_follow_the_pods():
    async def scenario(cluster: Cluster) -> None:
        await node(cluster, "n", "192.168.0.1")
        await pod(cluster, "a", "10.0.0.1")
        await pod(cluster, "b", "10.0.0.2", ready="False")
        await cluster.create(SERVICES, service("web", {"app": "web"}))
        await cluster.settle()
        found = await cluster.get(ENDPOINTS, "default/web")
        assert meta.labels(found) == {"app": "web", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        (subset,) = found["subsets"]
        assert [each["ip"] for each in subset["addresses"]] == ["10.0.0.1"]
        assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.0.0.2"]
        assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
        assert subset["addresses"][0]["targetRef"]["name"] == "a"
        version = meta.resource_version(found)
        await cluster.patch(PODS, "default/a", {"metadata": {"annotations": {"x": "y"}}})
        await cluster.settle()
        assert meta.resource_version(await cluster.get(ENDPOINTS, "default/web")) == version
        await cluster.delete(PODS, "default/a", gracePeriodSeconds=0)
        await cluster.settle()
        assert "addresses" not in (await cluster.get(ENDPOINTS, "default/web"))["subsets"][0]
        assert len(await slices(cluster, "web")) == 1
        await cluster.delete(SERVICES, "default/web")
        await cluster.settle()
        with pytest.raises(ApiError):
            await cluster.get(ENDPOINTS, "default/web")

    simulate(scenario, every)


def test_a_headless_service_without_ports_and_one_that_publishes_all():
    async def scenario(cluster: Cluster) -> None:
        await node(cluster, "n", "192.168.0.1")
        await pod(cluster, "b", "10.0.0.2", ready="False")
        headless = service("headless", {"app": "web"}, clusterIP="None")
        del headless["spec"]["ports"]
        await cluster.create(SERVICES, headless)
        await cluster.create(SERVICES, service("all", {"app": "web"}, publishNotReadyAddresses=True))
        await cluster.settle()
        found = await cluster.get(ENDPOINTS, "default/headless")
        assert "service.kubernetes.io/headless" in meta.labels(found)
        assert found["subsets"][0].keys() == {"notReadyAddresses"}
        assert "addresses" in (await cluster.get(ENDPOINTS, "default/all"))["subsets"][0]

    simulate(scenario, every)


def test_endpoints_that_somebody_else_writes_are_mirrored():
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(SERVICES, service("db"))
        await cluster.create(ENDPOINTS, endpoints("db", "10.1.0.1", "10.1.0.2", labels={"a": "b"}, annotations={"c": "d"}))
        await cluster.settle()
        (mirror,) = await slices(cluster, "db")
        assert addresses([mirror]) == ["10.1.0.1", "10.1.0.2"]
        assert mirror["ports"] == [{"name": "p", "port": 9000, "protocol": "TCP"}]
        labels = meta.labels(mirror)
        assert (labels["a"], labels["endpointslice.kubernetes.io/managed-by"]) == (
            "b",
            "endpointslicemirroring-controller.k8s.io",
        )
        assert meta.annotations(mirror) == {"c": "d"}
        assert meta.owners(mirror)[0]["kind"] == "Endpoints"
        two = [{"addresses": [{"ip": "10.1.0.3"}, {"ip": "fd00::1"}], "ports": [{"port": 9001}]}]
        await cluster.patch(ENDPOINTS, "default/db", {"subsets": two})
        await cluster.settle()
        both = await slices(cluster, "db")
        assert sorted(each["addressType"] for each in both) == ["IPv4", "IPv6"]
        assert addresses(both) == ["10.1.0.3", "fd00::1"]
        assert meta.name(mirror) in [meta.name(each) for each in both]
        await cluster.patch(SERVICES, "default/db", {"spec": {"selector": {"app": "web"}}})
        await cluster.settle()
        assert addresses(await slices(cluster, "db")) == []

    simulate(scenario, every)


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_some_are_not_mirrored(metadata: Obj):
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(SERVICES, service("db"))
        await cluster.create(ENDPOINTS, endpoints("db", "10.1.0.1", **metadata))
        await cluster.settle()
        assert await slices(cluster, "db") == []

    simulate(scenario, every)


async def ingress(cluster: Cluster, name: str) -> list[str]:
    found = await cluster.get(SERVICES, f"default/{name}")
    return [each["ip"] for each in get(found, ("status", "loadBalancer", "ingress")) or ()]


def test_a_load_balancer_is_its_nodes():
    async def scenario(cluster: Cluster) -> None:
        await node(cluster, "a", "192.168.0.1")
        await node(cluster, "b", "192.168.0.2", ready="False")
        await node(cluster, "c", "192.168.0.3", **{"node.kubernetes.io/exclude-from-external-load-balancers": ""})
        await cluster.create(SERVICES, service("lb", {"app": "web"}, type="LoadBalancer"))
        await cluster.create(SERVICES, service("other", type="LoadBalancer", loadBalancerClass="example.com/mine"))
        await cluster.settle(2)
        assert await ingress(cluster, "lb") == ["192.168.0.1"]
        assert await ingress(cluster, "other") == []
        found = await cluster.get(SERVICES, "default/lb")
        assert found["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "VIP"
        assert found["metadata"]["finalizers"] == ["service.kubernetes.io/load-balancer-cleanup"]
        ready = {"type": "Ready", "status": "True", "reason": "x", "message": "x"}
        await cluster.patch(NODES, "b", {"status": {"conditions": [ready]}}, "status")
        await cluster.settle(2)
        assert await ingress(cluster, "lb") == ["192.168.0.1", "192.168.0.2"]
        await cluster.patch(SERVICES, "default/lb", {"spec": {"type": "ClusterIP"}})
        await cluster.settle()
        found = await cluster.get(SERVICES, "default/lb")
        assert not found["metadata"].get("finalizers")
        assert await ingress(cluster, "lb") == []

    simulate(scenario, every)


def test_one_that_keeps_traffic_local_is_where_its_pods_are_and_goes_in_peace():
    async def scenario(cluster: Cluster) -> None:
        await node(cluster, "n", "192.168.0.1")
        await node(cluster, "m", "192.168.0.2")
        await cluster.create(SERVICES, service("lb", {"app": "web"}, type="LoadBalancer", externalTrafficPolicy="Local"))
        await cluster.settle(2)
        assert await ingress(cluster, "lb") == []
        await pod(cluster, "a", "10.0.0.1", on="m")
        await cluster.settle(2)
        assert await ingress(cluster, "lb") == ["192.168.0.2"]
        await cluster.delete(SERVICES, "default/lb")
        await cluster.settle()
        assert await cluster.list(SERVICES) == []

    simulate(scenario, every)


def test_what_a_node_serves_itself_is_ready_while_it_is_heard_of_and_goes_with_it():
    async def scenario(cluster: Cluster) -> None:
        async def endpoint() -> Obj:
            (found,) = await cluster.list(ENDPOINT_SLICES, "kube-system")
            return found["endpoints"][0]

        await cluster.create(ENDPOINT_SLICES, publish.slice_(publish.Published("10.96.0.10", "192.168.0.1", "a"), 53))
        await cluster.settle()
        assert (await endpoint())["conditions"]["ready"]
        await node(cluster, "a", "192.168.0.1", ready="False")
        await cluster.settle()
        # It may well answer while the node cannot start pods.
        assert (await endpoint())["conditions"]["ready"]
        for status, told in (("Unknown", False), ("True", True)):
            ready = {"type": "Ready", "status": status, "reason": "x", "message": "x"}
            await cluster.patch(NODES, "a", {"status": {"conditions": [ready]}}, "status")
            await cluster.settle()
            found = await endpoint()
            assert (found["conditions"]["ready"], found["conditions"]["serving"]) == (told, told)
            assert found["hints"] == {"forNodes": [{"name": "a"}]}
        await cluster.delete(NODES, "a")
        await cluster.settle(2)
        assert await cluster.list(ENDPOINT_SLICES, "kube-system") == []

    simulate(scenario, every)


def test_a_range_in_use_stays_until_its_last_address_is_given_back():
    async def scenario(cluster: Cluster) -> None:
        extra = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": "extra"},
            "spec": {"cidrs": ["10.200.0.0/24"]},
        }
        await cluster.create(SERVICE_CIDRS, extra)
        await cluster.settle()
        found = await cluster.get(SERVICE_CIDRS, "extra")
        assert found["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
        assert conditions.is_true(found["status"]["conditions"], "Ready")
        await cluster.create(SERVICES, service("held", clusterIP="10.200.0.7"))
        await cluster.delete(SERVICE_CIDRS, "extra")
        await cluster.settle(60)
        (ready,) = (await cluster.get(SERVICE_CIDRS, "extra"))["status"]["conditions"]
        assert (ready["status"], ready["reason"]) == ("False", "Terminating")
        await cluster.delete(SERVICES, "default/held")
        await cluster.settle(15)
        with pytest.raises(ApiError):
            await cluster.get(SERVICE_CIDRS, "extra")

    simulate(scenario, every)


def test_a_range_within_another_one_goes_although_it_is_used():
    async def scenario(cluster: Cluster) -> None:
        inner = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": "inner"},
            "spec": {"cidrs": ["10.96.5.0/24"]},
        }
        await cluster.create(SERVICE_CIDRS, inner)
        await cluster.settle()
        await cluster.create(SERVICES, service("held", clusterIP="10.96.5.7"))
        await cluster.delete(SERVICE_CIDRS, "inner")
        await cluster.settle(5)
        assert meta.is_deleting(await cluster.get(SERVICE_CIDRS, "inner"))
        await cluster.settle(10)
        with pytest.raises(ApiError):
            await cluster.get(SERVICE_CIDRS, "inner")

    simulate(scenario, every)
