"""Nodes become routes: by a gateway on the same link, or through an overlay (as flannel's host-gw and vxlan backends do)."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from tiphys.cni.plan import Here, Link, Neighbour, Overlay, Peer, Route, hardware_address, overlay_number, peer, plan, pod_mtu

ETH = Link("10.0.0.1", "10.0.0.0/24", "eth0", 1500)
ETH6 = Link("fd00::1", "fd00::/64", "eth0", 1500)
HERE = Here("a", ("10.1.0.0/24",), (ETH,), "tpx", 7)


def test_what_of_a_node_matters():
    # https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/
    addresses = [{"type": "Hostname", "address": "b"}, {"type": "InternalIP", "address": "10.0.0.2"}]
    node = {"metadata": {"name": "b"}, "spec": {"podCIDR": "10.1.1.0/24"}, "status": {"addresses": addresses}}
    assert peer(node) == Peer("b", ("10.0.0.2",), ("10.1.1.0/24",))
    assert peer({"metadata": {"name": "b"}, "spec": {"podCIDRs": ["10.1.1.0/24", "fd01::/64"]}}).ranges[1] == "fd01::/64"
    assert peer({"metadata": {"name": "b"}}) == Peer("b")


def test_a_node_on_the_same_link_is_the_gateway_to_its_pods():
    wanted = plan(HERE, [Peer("b", ("10.0.0.2",), ("10.1.1.0/24",)), Peer("a", ("10.0.0.1",), ("10.1.0.0/24",))])
    assert wanted.routes == {Route("10.1.1.0/24", "10.0.0.2", "eth0")}
    assert wanted.overlay is None
    assert wanted.pods == {"10.1.0.0/24", "10.1.1.0/24"}
    assert pod_mtu(HERE.links, wanted.overlay) == 1500


def test_a_node_elsewhere_is_reached_through_the_overlay():
    wanted = plan(HERE, [Peer("b", ("10.0.0.2",), ("10.1.1.0/24",)), Peer("c", ("10.9.0.3",), ("10.1.2.0/24",))])
    assert wanted.routes == {
        Route("10.1.1.0/24", "10.0.0.2", "eth0"),
        Route("10.1.2.0/24", "10.1.2.0", "tpx", onlink=True),
    }
    assert wanted.neighbours == {Neighbour("10.1.2.0", hardware_address("c"), "10.9.0.3")}
    # https://www.rfc-editor.org/rfc/rfc7348: 50 bytes are added below IPv4.
    assert wanted.overlay == Overlay("tpx", 7, "10.0.0.1", hardware_address("a"), 1450, ("10.1.0.0",))
    assert pod_mtu(HERE.links, wanted.overlay) == 1450


def test_both_families():
    here = Here("a", ("10.1.0.0/24", "fd01::/64"), (ETH, ETH6), "tpx", 7)
    beside = Peer("b", ("10.0.0.2", "fd00::2"), ("10.1.1.0/24", "fd01:0:0:1::/64"))
    away = Peer("c", ("10.9.0.3",), ("10.1.2.0/24", "fd01:0:0:2::/64"))
    wanted = plan(here, [beside, away])
    assert Route("fd01:0:0:1::/64", "fd00::2", "eth0") in wanted.routes
    assert Route("fd01:0:0:2::/64", "fd01:0:0:2::", "tpx", onlink=True) in wanted.routes
    assert {each.node for each in wanted.neighbours} == {"10.9.0.3"}
    assert wanted.overlay.addresses == ("10.1.0.0", "fd01::")


def test_a_node_of_ipv6_alone():
    wanted = plan(Here("a", ("fd01::/64",), (ETH6,), "tpx", 7), [Peer("b", ("2001:db8::2",), ("fd01:0:0:1::/64",))])
    assert (wanted.overlay.local, wanted.overlay.mtu) == ("fd00::1", 1430)


def test_nodes_without_pods_or_addresses():
    strange = Peer("d", ("fd00::4",), ("10.1.3.0/24",))
    wanted = plan(HERE, [Peer("b", ("10.0.0.2",)), Peer("c", (), ("10.1.2.0/24",)), strange])
    assert not wanted.routes
    assert wanted.unreached == {"d"}


def test_a_machine_that_is_no_node_has_routes_and_no_pods():
    wanted = plan(Here("", (), (ETH,), "tpx", 7), [Peer("b", ("10.0.0.2",), ("10.1.1.0/24",))])
    assert wanted.routes == {Route("10.1.1.0/24", "10.0.0.2", "eth0")}


def test_numbers_and_hardware_addresses_are_the_same_everywhere_and_legal():
    assert overlay_number("u") == overlay_number("u") != overlay_number("v")
    first = int(hardware_address("node-1").split(":")[0], 16)
    # IEEE 802: locally administered, and of one machine only.
    assert first & 3 == 2


PEERS = st.lists(
    st.builds(
        lambda number, host, beside: Peer(f"n{number}", (f"10.0.{0 if beside else 7}.{host}",), (f"10.{1 + number}.0.0/24",)),
        st.integers(0, 99),
        st.integers(2, 250),
        st.booleans(),
    ),
    unique_by=lambda each: each.name,
)


@given(PEERS)
def test_every_range_of_another_node_has_exactly_one_way(peers):
    """Never two routes to the same pods, never one to our own, and whoever is behind the overlay has a neighbour there."""
    wanted = plan(Here("n0", ("10.1.0.0/24",), (ETH,), "tpx", 7), peers)
    to = [each.to for each in wanted.routes]
    assert sorted(to) == sorted(each.ranges[0] for each in peers if each.name != "n0")
    behind = {each.via for each in wanted.routes if each.device == "tpx"}
    assert behind == {each.address for each in wanted.neighbours}
    assert (wanted.overlay is not None) == bool(behind)
    for each in wanted.routes - {route for route in wanted.routes if route.onlink}:
        assert ipaddress.ip_address(each.via) in ipaddress.ip_network(ETH.network)
