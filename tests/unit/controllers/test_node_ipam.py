"""Which range of pod addresses a node gets. v1.36.4 pkg/controller/nodeipam/ipam/range_allocator.go, cidrset/cidr_set.go, and
cmd/kube-controller-manager/app/core.go: setNodeCIDRMaskSizes."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.controllers.node_ipam import NodeIpam, World, ranges
from tiphys.controllers.plan import Emit, Patch


def node(name, *cidrs):
    spec = {"podCIDR": cidrs[0], "podCIDRs": list(cidrs)} if cidrs else {}
    return {"metadata": {"name": name, "uid": name}, "spec": spec}


def given_out(plan):
    return {each.obj["metadata"]["name"]: each.patch["spec"]["podCIDRs"] for each in plan.writes if isinstance(each, Patch)}


def test_the_next_free_range_of_each_family():
    ipam = NodeIpam(ranges("10.244.0.0/16,fd00:10:244::/48"))
    plan = ipam.reconcile(World((node("a", "10.244.0.0/24", "fd00:10:244::/64"), node("b"), node("c"))))
    assert given_out(plan) == {
        "b": ["10.244.1.0/24", "fd00:10:244:1::/64"],
        "c": ["10.244.2.0/24", "fd00:10:244:2::/64"],
    }
    assert plan.writes[0].patch["spec"]["podCIDR"] == "10.244.1.0/24"
    assert plan.writes[0].patch["metadata"]["uid"] == "b"


def test_a_range_that_has_become_free_is_the_last_to_be_given():
    ipam = NodeIpam(ranges("10.0.0.0/22"))
    assert given_out(ipam.reconcile(World((node("a"), node("b"))))) == {"a": ["10.0.0.0/24"], "b": ["10.0.1.0/24"]}
    b = node("b", "10.0.1.0/24")
    assert given_out(ipam.reconcile(World((b, node("c"))))) == {"c": ["10.0.2.0/24"]}
    assert given_out(ipam.reconcile(World((b, node("c", "10.0.2.0/24"), node("d"), node("e"))))) == {
        "d": ["10.0.3.0/24"],
        "e": ["10.0.0.0/24"],
    }


def test_ranges_of_services_and_of_foreign_nodes_are_left_out():
    ipam = NodeIpam(ranges("10.0.0.0/21"), (ip_network("10.0.0.0/25"), ip_network("192.168.0.0/16")))
    others = (node("wide", "10.0.2.0/23"), node("elsewhere", "172.16.0.0/24"), node("odd", "nonsense"))
    assert given_out(ipam.reconcile(World((*others, node("a"), node("b"))))) == {"a": ["10.0.1.0/24"], "b": ["10.0.4.0/24"]}


def test_when_none_is_left_the_node_is_told_so():
    ipam = NodeIpam(ranges("10.0.0.0/24", mask=25))
    plan = ipam.reconcile(World((node("a"), node("b"), node("c"))))
    assert set(given_out(plan)) == {"a", "b"}
    assert isinstance(plan.writes[-1], Emit)
    assert plan.writes[-1].note.message == "Node c status is now: CIDRNotAvailable"
    assert plan.retry == (
        "failed to allocate cidr from cluster cidr at idx:0: CIDR allocation failed; "
        "there are no remaining CIDRs left to allocate in the accepted range"
    )


def test_who_has_one_or_is_leaving_gets_none():
    leaving = {**node("a"), "metadata": {"name": "a", "uid": "a", "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    plan = NodeIpam(ranges("10.0.0.0/16")).reconcile(World((leaving, node("b", "10.0.0.0/24"))))
    assert plan.writes == ()


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ({"cluster": "10.0.0.0/16"}, [24]),
        ({"cluster": "fd00::/48"}, [64]),
        ({"cluster": "10.0.0.0/16", "mask": 26}, [26]),
        ({"cluster": "10.0.0.0/16", "ipv4": 26}, [26]),
        ({"cluster": "fd00::/52,10.0.0.0/16", "ipv4": 26, "ipv6": 66}, [66, 26]),
    ],
)
def test_sizes(flags, wanted):
    assert [each.mask for each in ranges(**flags)] == wanted


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ({"cluster": "10.0.0.0/16,fd00::/48", "mask": 26}, "not allowed with dual-stack clusters"),
        ({"cluster": "10.0.0.0/16", "mask": 26, "ipv4": 26}, "not allowed if --node-cidr-mask-size is set"),
        ({"cluster": "10.0.0.0/16", "ipv6": 64}, "not allowed for a single-stack IPv4 cluster"),
        ({"cluster": "fd00::/48", "ipv4": 24}, "not allowed for a single-stack IPv6 cluster"),
        ({"cluster": "10.0.0.0/25"}, "Invalid --cluster-cidr"),
        ({"cluster": "fd00::/32"}, "the node CIDR size is too big"),
        ({"cluster": "10.0.0.0/16,10.1.0.0/16"}, "one of each family"),
        ({"cluster": "pods"}, "unable to parse"),
    ],
)
def test_flags_that_make_no_sense(flags, problem):
    with pytest.raises(ValueError, match=problem):
        ranges(**flags)


@given(st.lists(st.sampled_from(["come", "go"]), max_size=60))
def test_no_two_nodes_ever_share_an_address(events):
    ipam = NodeIpam(ranges("10.0.0.0/28", mask=31), (ip_network("10.0.0.4/32"),))
    nodes: dict[str, dict] = {}
    for number, event in enumerate(events):
        if event == "come":
            nodes[str(number)] = node(str(number))
        elif nodes:
            nodes.pop(next(iter(nodes)))
        for name, cidrs in given_out(ipam.reconcile(World(tuple(nodes.values())))).items():
            nodes[name] = node(name, *cidrs)
        taken = [ip_network(each["spec"]["podCIDR"]) for each in nodes.values() if each["spec"]]
        assert not any(one.overlaps(other) for at, one in enumerate(taken) for other in taken[:at])
        assert len(taken) == min(len(nodes), 7)
        assert not ipam.reconcile(World(tuple(nodes.values()))).writes or len(nodes) > 7
