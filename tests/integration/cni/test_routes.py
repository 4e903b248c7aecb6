"""Routes between nodes in a real kernel: two nodes on one link, and a third behind a router (VXLAN)."""

import os
from textwrap import dedent

import pytest
from tests.integration.cni.conftest import give, link, several

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # processes and namespaces
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

BRING = """
from tiphys.cni import kernel
from tiphys.cni.plan import Here, Peer, plan
peers = [Peer("n0", ("10.0.0.10",), ("10.1.0.0/24", "fd01::/64")),
         Peer("n1", ("10.0.0.11",), ("10.1.1.0/24", "fd01:0:0:1::/64")),
         Peer("n2", ("10.0.9.12",), ("10.1.2.0/24", "fd01:0:0:2::/64"))]
me = peers[{index}]
links = kernel.links_of(me.addresses)
assert [each.device for each in links] == ["eth0"]
routes = kernel.Routes(77, "tpx")
kernel.forward(me.ranges)
wanted = plan(Here(me.name, me.ranges, links, "tpx", 9), peers)
routes.bring(wanted)
assert routes.bring(wanted) == 0, "what is there is not touched"
"""
REMOVE = 'from tiphys.cni import kernel; kernel.Routes(77, "tpx").remove()'


@pytest.fixture(scope="module")
def nodes():
    with several(4) as (*three, router):
        router.run("sysctl -qw net.ipv4.ip_forward=1")
        router.run("ip link add lan type bridge")
        router.run("ip link set lan up")
        give(router, "lan", "10.0.0.1/24")
        for index, node in enumerate(three):
            link(router, f"v{index}", node)
            if index < 2:
                router.run(f"ip link set v{index} master lan")
                give(node, "eth0", f"10.0.0.{10 + index}/24")
                node.run("ip route add default via 10.0.0.1")
            else:
                give(router, "v2", "10.0.9.1/24")
                give(node, "eth0", "10.0.9.12/24")
                node.run("ip route add default via 10.0.9.1")
            # An address of the node's own stands for a pod.
            node.run("ip link add tph0 type bridge")
            node.run("ip link set tph0 up")
            give(node, "tph0", f"10.1.{index}.1/24", f"fd01:0:0:{index}::1/64")
            node.serve()
        yield three


def test_pods_of_all_nodes_reach_each_other_under_their_own_addresses(nodes):
    for index, node in enumerate(nodes):
        node.python(dedent(BRING.format(index=index)))
    for index in range(3):
        for other in range(3):
            if index != other:
                assert nodes[index].reaches(f"10.1.{other}.1"), (index, other)
    assert "via 10.0.0.11" in nodes[0].run("ip route")
    assert "dev tpx" in nodes[0].run("ip route get 10.1.2.5")
    # Over IPv4 below, for nodes that have no IPv6.
    assert nodes[0].reaches("fd01:0:0:2::1")
    assert "mtu 1450" in nodes[0].run("ip link show tpx")


def test_a_link_that_was_down_for_a_moment(nodes):
    node = nodes[0]
    node.run("ip link set eth0 down")
    node.run("ip link set eth0 up")
    node.run("ip route add default via 10.0.0.1")
    assert "10.1.1.0/24" not in node.run("ip route")
    node.python(dedent(BRING.format(index=0)))
    assert node.reaches("10.1.1.1")


def test_nothing_is_left(nodes):
    for node in nodes:
        node.python(REMOVE)
        left = node.run("ip route") + node.run("ip -6 route") + node.run("ip link")
        assert "proto 84" not in left
        assert "tpx" not in left
