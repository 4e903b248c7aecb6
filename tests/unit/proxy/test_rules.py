"""Which endpoints serve which addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.proxy import rules
from tiphys.proxy.endpoints import Endpoint, by_port, usable
from tiphys.proxy.rules import HealthCheck, Node
from tiphys.proxy.services import PortName, ServicePort, ports

NODE = Node("here", "z1", ("10.0.0.1",))
NAME = PortName("default", "s", "web", "tcp")


def service(status=None, **spec):
    made = {"clusterIP": "10.96.0.7", "ports": [{"name": "web", "port": 80, "protocol": "TCP"}], **spec}
    return {"metadata": {"namespace": "default", "name": "s"}, "spec": made, "status": status or {}}


def slice_of(*endpoints, kind="IPv4", labels=(), name="s-1", port=8080):
    return {
        "metadata": {"namespace": "default", "name": name, "labels": {"kubernetes.io/service-name": "s", **dict(labels)}},
        "addressType": kind,
        "ports": [{"name": "web", "port": port, "protocol": "TCP"}],
        "endpoints": list(endpoints),
    }


def at(address, node="there", *, ready=True, **conditions):
    return {"addresses": [address], "nodeName": node, "conditions": {"ready": ready, **conditions}}


def only(made, *slices, node=NODE):
    (port,) = rules.of_service(made, slices, node, 4).ports
    return port


@pytest.mark.parametrize(
    "made",
    [
        service(clusterIP="None"),
        service(clusterIP=""),
        service(type="ExternalName"),
        service(clusterIPs=["fd00::1"], clusterIP="fd00::1"),
        {**service(), "metadata": {"namespace": "a", "name": "b", "labels": {"service.kubernetes.io/service-proxy-name": "x"}}},
    ],
)
def test_services_that_are_not_served(made):
    # v1.36.4 pkg/proxy/util/utils.go ShouldSkipService; pkg/proxy/config (service-proxy-name)
    assert list(ports(made, 4)) == []


def test_a_service_in_full():
    # v1.36.4 pkg/proxy/serviceport.go newBaseServiceInfo
    made = service(
        {
            "loadBalancer": {
                "ingress": [{"ip": "5.6.7.8"}, {"ip": "5.6.7.9", "ipMode": "Proxy"}, {"hostname": "x"}, {"ip": "fd::1"}]
            }
        },
        type="LoadBalancer",
        externalTrafficPolicy="Local",
        internalTrafficPolicy="Local",
        healthCheckNodePort=31000,
        externalIPs=["1.2.3.4", "fd::2"],
        loadBalancerSourceRanges=[" 10.0.0.0/8 ", "fd::/8"],
        sessionAffinity="ClientIP",
        sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}},
        ports=[{"name": "web", "port": 80, "protocol": "TCP", "nodePort": 30000}],
    )
    expected = ServicePort(NAME, "10.96.0.7", 80, 30000, ("1.2.3.4",), ("5.6.7.8",), ("10.0.0.0/8",), 60, True, True, 31000)
    assert list(ports(made, 4)) == [expected]


def test_a_range_that_lets_everybody_in_is_none():
    # v1.36.4 pkg/proxy/serviceport.go:284
    made = service(loadBalancerSourceRanges=["10.0.0.0/8", "0.0.0.0/0"])
    assert next(ports(made, 4)).source_ranges == ()


@pytest.mark.parametrize(
    ("endpoints", "internal", "external", "cluster", "local"),
    [
        ([], "reject", "reject", [], []),
        ([at("10.1.0.1", ready=False)], "reject", "reject", [], []),
        ([at("10.1.0.1")], "endpoints", "drop", ["10.1.0.1"], []),
        ([at("10.1.0.1", "here"), at("10.1.0.2")], "endpoints", "endpoints", ["10.1.0.1", "10.1.0.2"], ["10.1.0.1"]),
        (
            [at("10.1.0.1", "here", ready=False, serving=True, terminating=True), at("10.1.0.2")],
            "endpoints",
            "endpoints",
            ["10.1.0.2"],
            ["10.1.0.1"],
        ),
        (
            [at("10.1.0.1", ready=False, serving=True, terminating=True), at("10.1.0.2", ready=False, serving=False)],
            "endpoints",
            "drop",
            ["10.1.0.1"],
            [],
        ),
    ],
)
def test_policies_and_endpoints_that_end(endpoints, internal, external, cluster, local):
    # v1.36.4 pkg/proxy/topology.go CategorizeEndpoints; topology_test.go
    made = service(type="NodePort", externalTrafficPolicy="Local")
    made["spec"]["ports"][0]["nodePort"] = 30000
    port = only(made, slice_of(*endpoints))
    assert (port.internal, port.external) == (internal, external)
    assert [each for each, _ in port.cluster] == cluster
    assert [each for each, _ in port.local] == local


def test_the_internal_policy():
    port = only(service(internalTrafficPolicy="Local"), slice_of(at("10.1.0.1"), at("10.1.0.2", "here")))
    assert (port.internal, port.cluster, port.local) == ("endpoints", (), (("10.1.0.2", 8080),))
    assert only(service(internalTrafficPolicy="Local"), slice_of(at("10.1.0.1"))).internal == "drop"


@pytest.mark.parametrize(
    ("hints", "found"),
    [
        ([{"forZones": [{"name": "z1"}]}, {"forZones": [{"name": "z2"}]}], ["a"]),
        ([{"forZones": [{"name": "z2"}]}, {"forZones": [{"name": "z2"}]}], ["a", "b"]),
        ([{"forZones": [{"name": "z1"}]}, {}], ["a", "b"]),
        ([{"forNodes": [{"name": "there"}]}, {"forNodes": [{"name": "here"}]}], ["b"]),
        (
            [
                {"forNodes": [{"name": "there"}], "forZones": [{"name": "z1"}]},
                {"forNodes": [{"name": "there"}], "forZones": [{"name": "z2"}]},
            ],
            ["a"],
        ),
    ],
)
def test_hints(hints, found):
    # v1.36.4 pkg/proxy/topology.go topologyModeFromHints
    names = {"10.1.0.1": "a", "10.1.0.2": "b"}
    endpoints = [{**at(address), "hints": hint} for address, hint in zip(names, hints, strict=True)]
    assert [names[each] for each, _ in only(service(), slice_of(*endpoints)).cluster] == found


def test_slices_of_one_service():
    # v1.36.4 pkg/proxy/endpointslicecache.go: another family, somebody else's, no port; overlapping ones count once
    slices = [
        slice_of(at("10.1.0.1"), at("10.1.0.2")),
        slice_of(at("10.1.0.2", "here"), name="s-2"),
        slice_of(at("10.1.0.3"), labels={"service.kubernetes.io/headless": ""}, name="s-3"),
        slice_of(at("10.1.0.3"), labels={"service.kubernetes.io/service-proxy-name": "x"}, name="s-4"),
        slice_of({"addresses": ["fd00::1"]}, kind="IPv6", name="s-5"),
        slice_of(at("10.1.0.3"), port=None, name="s-6"),
    ]
    found = by_port(slices, "here", 4)
    assert [(each.address, each.local) for each in found[NAME]] == [("10.1.0.1", False), ("10.1.0.2", True)]


def test_sources_of_a_load_balancer():
    # v1.36.4 pkg/proxy/nftables/proxier.go:1483: a node that may come has the balancer's address as its source
    status = {"loadBalancer": {"ingress": [{"ip": "5.6.7.8"}]}}
    made = service(status, type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"])
    assert only(made).sources == ("10.0.0.0/8", "5.6.7.8")
    assert only(made, node=Node("here", "", ("192.0.2.1",))).sources == ("10.0.0.0/8",)


def test_what_a_load_balancer_is_told():
    # v1.36.4 pkg/proxy/endpointschangetracker.go LocalReadyEndpoints
    made = service(type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=31000)
    endpoints = [at("10.1.0.1", "here"), at("10.1.0.2", "here", ready=False, serving=True, terminating=True), at("10.1.0.3")]
    found = rules.of_service(made, [slice_of(*endpoints)], NODE, 4)
    assert found.health == (HealthCheck("default", "s", 31000, 1),)


endpoints = st.builds(
    Endpoint,
    address=st.sampled_from([f"10.1.0.{n}" for n in range(1, 7)]),
    port=st.just(80),
    local=st.booleans(),
    ready=st.booleans(),
    serving=st.booleans(),
    terminating=st.booleans(),
    zones=st.sets(st.sampled_from(["z1", "z2"])).map(frozenset),
    nodes=st.sets(st.sampled_from(["here", "there"])).map(frozenset),
)


@given(st.lists(endpoints, max_size=6, unique_by=lambda each: each.address), st.booleans(), st.booleans(), st.booleans())
def test_traffic_goes_only_to_endpoints_that_answer(known, internal_local, external_local, accessible):
    """Never to one that does not serve; never away from a node by a policy that stays; never nowhere while one is ready."""
    port = ServicePort(
        NAME, "10.96.0.7", 80, 30000 if accessible else 0, internal_local=internal_local, external_local=external_local
    )
    found = usable(tuple(known), port, "here", "z1")
    assert all(each.ready or each.leaving for each in found.reachable)
    assert all(each.local for each in found.local)
    ready = [each for each in known if each.ready]
    if port.uses_cluster and ready:
        assert found.cluster
    if ready and (port.uses_cluster or port.uses_local):
        assert found.anywhere
    assert not any(each.leaving and not each.ready for each in found.cluster) or not ready
