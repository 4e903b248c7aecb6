"""What the runtime's network plugins are told (https://www.cni.dev/plugins/current/, main/bridge, ipam/host-local)."""

from pathlib import PurePath

from tiphys.cni import masquerade
from tiphys.cni.config import PodLinks, network
from tiphys.cni.loop import condition, write


def test_both_families_on_a_bridge_of_its_own():
    bridge, ports = network(PodLinks("tph0", ("10.1.0.0/24", "fd01::/64"), PurePath("/given"), 1450))["plugins"]
    assert (bridge["type"], bridge["bridge"], bridge["mtu"], bridge["hairpinMode"]) == ("bridge", "tph0", 1450, True)
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd01::/64"}]]
    assert bridge["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]
    assert ports["capabilities"] == {"portMappings": True}


def test_pods_know_each_other_by_their_own_addresses():
    # The plugin's own masquerading would hide them from other nodes.
    assert "ipMasq" not in network(PodLinks("tph0", ("10.1.0.0/24",), PurePath("/given")))["plugins"][0]
    made = masquerade.content(("10.1.0.0/24", "fd01::/64"), {"10.1.0.0/24", "10.1.1.0/24", "fd01::/64"})
    assert made.elements == {"pods4": {"10.1.0.0/24": "", "10.1.1.0/24": ""}, "pods6": {"fd01::/64": ""}}
    four, six = made.chains["leaving"].rules
    assert four.startswith("ip saddr 10.1.0.0/24 ")
    assert "ip daddr != @pods4" in four
    assert "ip6 daddr != @pods6" in six


def test_files_are_written_once(tmp_path):
    links = PodLinks("tph0", ("10.1.0.0/24",), PurePath("/given"))
    write(tmp_path, links)
    before = {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()}
    write(tmp_path, links)
    assert {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()} == before
    assert sorted(before) == ["10-pods.conflist", "99-loopback.conflist"]


def test_the_condition_of_the_node():
    # v1.36.4 staging/src/k8s.io/cloud-provider/controllers/route/route_controller.go:528
    assert (condition("", 0.0)["status"], condition("", 0.0)["reason"]) == ("False", "RouteCreated")
    failed = condition("the kernel said no", 0.0)
    assert (failed["status"], failed["reason"], failed["message"]) == ("True", "NoRouteCreated", "the kernel said no")
