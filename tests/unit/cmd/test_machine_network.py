"""What a cluster takes of its machine's addresses."""

import ipaddress

import pytest

from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.machine_network import PODS_OF_THE_MACHINE, MachineNetwork


def test_one_family():
    network = MachineNetwork(245, ("10.245.0.0/16",))
    assert (network.gateways, network.node_addresses(0)) == (("10.239.245.1",), ("10.239.245.2",))
    assert network.address == network.gateways[0]
    # v1.36.4 cmd/kube-controller-manager/app/core.go: /24 for IPv4, /64 for IPv6
    assert network.pods_of(0) == ("10.245.0.0/24",)
    assert network.pods_of(255) == ("10.245.255.0/24",)
    assert ipaddress.ip_network("10.245.0.0/16").subnet_of(ipaddress.ip_network(PODS_OF_THE_MACHINE))


def test_both_families():
    network = MachineNetwork(7, ("10.7.0.0/16", "fd00:7::/48"))
    assert network.pods_of(1) == ("10.7.1.0/24", "fd00:7:0:1::/64")
    assert network.node_addresses(1) == ("10.239.7.3", "fd00:10:239:7::3")
    assert network.prefix_lengths == (24, 64)


@pytest.mark.parametrize(("given", "index"), [("10.7.0.0/25", 0), ("10.7.0.0/24", 1)])
def test_ranges_that_are_too_small(given, index):
    with pytest.raises(Unusable, match="too small"):
        MachineNetwork(7, (given,)).pods_of(index)
