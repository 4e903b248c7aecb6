import pytest

from tiphys.api.core import services
from tiphys.machinery import tree

SINGLE, DUAL = ("IPv4",), ("IPv4", "IPv6")


def service(old=None, **spec):
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b"}, "spec": spec}
    if "ports" not in spec and spec.get("type") != "ExternalName":
        obj["spec"]["ports"] = [{"port": 80}]
    services.SERVICES.default(obj)
    if old is None:
        services.SERVICES.prepare_create(obj)
    return obj


# kube-apiserver v1.36.4 of both families, asked with dryRun=All; pkg/registry/core/service/storage/alloc.go:112
@pytest.mark.parametrize(
    ("cluster", "spec", "families", "policy"),
    [
        (SINGLE, {}, ["IPv4"], "SingleStack"),
        (SINGLE, {"ipFamilyPolicy": "PreferDualStack"}, ["IPv4"], "PreferDualStack"),
        (SINGLE, {"clusterIP": "None"}, ["IPv4", "IPv6"], "RequireDualStack"),
        (SINGLE, {"clusterIP": "None", "selector": {"a": "b"}}, ["IPv4"], "SingleStack"),
        (DUAL, {}, ["IPv4"], "SingleStack"),
        (DUAL, {"ipFamilies": ["IPv6"]}, ["IPv6"], "SingleStack"),
        (DUAL, {"ipFamilyPolicy": "PreferDualStack"}, ["IPv4", "IPv6"], "PreferDualStack"),
        (DUAL, {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}, ["IPv6", "IPv4"], "RequireDualStack"),
        (DUAL, {"clusterIP": "fd00::5"}, ["IPv6"], "SingleStack"),
        (DUAL, {"type": "ExternalName", "externalName": "x"}, None, None),
    ],
)
def test_families_of_a_new_service(cluster, spec, families, policy):
    obj = service(**spec)
    assert services.default_families(obj, None, cluster) == []
    assert (obj["spec"].get("ipFamilies"), obj["spec"].get("ipFamilyPolicy")) == (families, policy)


@pytest.mark.parametrize(
    ("cluster", "spec", "problem"),
    [
        (SINGLE, {"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            SINGLE,
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
        ),
        (
            SINGLE,
            {"clusterIP": "fd00::5"},
            'spec.clusterIPs[0]: Invalid value: ["fd00::5"]: IPv6 is not configured on this cluster',
        ),
        (
            DUAL,
            {"ipFamilies": ["IPv4", "IPv6"]},
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' "
            "when multiple IP families are specified",
        ),
    ],
)
def test_families_the_cluster_cannot_give(cluster, spec, problem):
    # v1.36.4 pkg/registry/core/service/storage/alloc.go:112
    assert [str(each) for each in services.default_families(service(**spec), None, cluster)] == [problem]


def stored(**spec):
    obj = service(**spec)
    services.default_families(obj, None, DUAL)
    if services.needs_cluster_ip(obj) and obj["spec"].get("clusterIP") != "None":
        obj["spec"]["clusterIPs"] = ["10.0.0.5", "fd00::5"][: len(obj["spec"]["ipFamilies"])]
        obj["spec"]["clusterIP"] = "10.0.0.5"
    for position, port in enumerate(obj["spec"].get("ports", ())):
        if services.needs_node_port(obj):
            port["nodePort"] = 30000 + position
    return obj


def changed(old, drop=(), **spec):
    new = tree.copy(old)
    new["spec"].update(spec)
    for name in drop:
        new["spec"].pop(name, None)
    services.SERVICES.default(new)
    services.SERVICES.prepare_update(new, old)
    return new


def test_going_single_stack_gives_back_the_second_address():
    # v1.36.4 pkg/registry/core/service/storage/storage_test.go, TestUpdateIPsFromDualStack...
    old = stored(ipFamilyPolicy="PreferDualStack")
    new = changed(old, ipFamilyPolicy="SingleStack")
    assert services.default_families(new, old, DUAL) == []
    assert (new["spec"]["clusterIPs"], new["spec"]["ipFamilies"]) == (["10.0.0.5"], ["IPv4"])
    assert list(services.SERVICES.validate_update(new, old)) == []


def test_what_was_allocated_is_kept_for_clients_that_leave_it_out():
    # v1.36.4 pkg/registry/core/service/storage/storage.go (patchAllocatedValues)
    old = stored(type="NodePort", ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "b"}])
    new = changed(old, drop=("clusterIP", "clusterIPs"), ports=[{"port": 82, "name": "b"}, {"port": 83, "name": "c"}])
    assert new["spec"]["clusterIPs"] == ["10.0.0.5"]
    assert [port.get("nodePort") for port in new["spec"]["ports"]] == [30001, None]
    assert "nodePort" not in new["spec"]["ports"][1], "a new port is the allocator's to fill in"


# v1.36.4 pkg/registry/core/service/strategy.go:268 (dropTypeDependentFields)
@pytest.mark.parametrize(
    ("before", "after", "gone", "kept"),
    [
        (
            {"type": "ClusterIP"},
            {"type": "ExternalName", "externalName": "x"},
            ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"),
            ("ports",),
        ),
        ({"type": "NodePort"}, {"type": "ClusterIP"}, ("externalTrafficPolicy",), ("clusterIP", "internalTrafficPolicy")),
        (
            {
                "type": "LoadBalancer",
                "loadBalancerClass": "x/y",
                "externalTrafficPolicy": "Local",
                "healthCheckNodePort": 32000,
            },
            {"type": "ClusterIP"},
            ("allocateLoadBalancerNodePorts", "loadBalancerClass", "externalTrafficPolicy", "healthCheckNodePort"),
            ("clusterIP",),
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 32000},
            {"externalTrafficPolicy": "Cluster"},
            ("healthCheckNodePort",),
            ("externalTrafficPolicy", "allocateLoadBalancerNodePorts"),
        ),
    ],
)
def test_a_change_of_type_clears_what_no_longer_applies(before, after, gone, kept):
    old = stored(**before)
    new = changed(old, **after)
    assert not [name for name in gone if name in new["spec"]]
    assert [name for name in kept if name in new["spec"]] == list(kept)
    assert not services.node_ports(new) or services.may_have_node_ports(new)


def test_a_value_the_client_changes_with_the_type_is_not_cleared():
    # v1.36.4 pkg/registry/core/service/strategy.go:268: it fails validation instead.
    old = stored(type="NodePort")
    new = changed(old, type="ClusterIP", ports=[{"port": 80, "nodePort": 31000}])
    told = [str(problem) for problem in services.SERVICES.validate(new)]
    assert told == ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]


def test_a_change_of_type_clears_the_balancer_status():
    # v1.36.4 pkg/registry/core/service/strategy.go:342
    old = stored(type="LoadBalancer")
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}}
    new = changed(old, type="ClusterIP")
    assert new["status"] == {"loadBalancer": {}}
    assert old["status"]["loadBalancer"]["ingress"]


@pytest.mark.parametrize(
    ("spec", "node_port", "health_port", "accessible"),
    [
        ({}, False, False, False),
        ({"externalIPs": ["1.2.3.4"]}, False, False, True),
        ({"type": "NodePort"}, True, False, True),
        ({"type": "NodePort", "externalTrafficPolicy": "Local"}, True, False, True),
        ({"type": "LoadBalancer"}, True, False, True),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, True, True, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, False, False, True),
        ({"type": "ExternalName", "externalName": "x"}, False, False, False),
    ],
)
def test_what_a_service_needs(spec, node_port, health_port, accessible):
    # v1.36.4 pkg/api/service/util.go:71; pkg/registry/core/service/storage/storage.go (needsNodePort, needsHCNodePort)
    obj = service(**spec)
    assert services.needs_node_port(obj) == node_port
    assert services.needs_health_check_port(obj) == health_port
    assert services.is_externally_accessible(obj) == accessible
    assert services.needs_cluster_ip(obj) == (spec.get("type") != "ExternalName")


def cells(obj):
    return [column.value(obj, 0) if callable(column.value) else None for column in services.SERVICES.columns]


def test_columns():
    # v1.36.4 pkg/printers/internalversion/printers.go:1413
    obj = stored(
        type="LoadBalancer", selector={"b": "c", "a": "d"}, ports=[{"port": 80}, {"port": 53, "protocol": "UDP", "name": "x"}]
    )
    assert cells(obj)[1:4] == ["10.0.0.5", "<pending>", "80:30000/TCP,53:30001/UDP"]
    assert cells(obj)[-1] == "a=d,b=c"
    obj["status"] = {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "a.b"}, {"ip": "1.1.1.1"}]}}
    obj["spec"]["externalIPs"] = ["5.5.5.5"]
    assert cells(obj)[2] == "1.1.1.1,9.9.9.9,a.b,5.5.5.5"
    assert cells(service(type="ExternalName", externalName="x.y"))[1:4] == ["<none>", "x.y", "<none>"]
    assert cells(service(clusterIP="None"))[1:3] == ["None", "<none>"]
