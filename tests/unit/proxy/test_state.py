"""What the proxy knows, as objects come and go; and which UDP flows it has to forget."""

from tiphys.proxy import conntrack
from tiphys.proxy.conntrack import Flow
from tiphys.proxy.rules import PortRules
from tiphys.proxy.services import PortName
from tiphys.proxy.state import Settings, State


def service(name="s", address="10.96.0.7", protocol="UDP"):
    ports = [{"name": "p", "port": 53, "protocol": protocol}]
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"clusterIP": address, "ports": ports}}


def slice_of(*addresses, name="s", part="1"):
    return {
        "metadata": {"namespace": "default", "name": f"{name}-{part}", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "p", "port": 5353, "protocol": "UDP"}],
        "endpoints": [{"addresses": [each], "nodeName": "n", "conditions": {"ready": True}} for each in addresses],
    }


def cluster(state: State) -> dict[str, list[str]]:
    found = state.changes()[4].services
    return {key[1]: [address for port in ports for address, _ in port.cluster] for key, ports in found.items()}


def test_objects_come_and_go():
    state = State(Settings("n"))
    one, two = slice_of("10.1.0.1"), slice_of("10.1.0.2", part="2")
    state.slice(None, one)
    assert cluster(state) == {}
    state.service(None, service())
    state.slice(None, two)
    assert cluster(state) == {"s": ["10.1.0.1", "10.1.0.2"]}
    state.slice(one, None)
    assert state.changed
    assert cluster(state) == {"s": ["10.1.0.2"]}
    assert not state.changed
    state.service(None, service("u", "10.96.0.8"))
    assert cluster(state) == {"u": []}  # only what has changed
    state.slice(two, slice_of("10.1.0.2", name="t", part="2"))
    assert cluster(state) == {"s": []}
    state.service(service(), None)
    assert cluster(state) == {"s": []}
    assert state.changes()[4].services == {}


def test_what_does_not_matter_changes_nothing():
    state = State(Settings("n"))
    state.service(None, service())
    state.node(None, {"metadata": {"name": "n", "labels": {}}, "status": {}})
    state.changes()
    state.service(service(), {**service(), "metadata": {**service()["metadata"], "annotations": {"a": "b"}}})
    state.node(None, {"metadata": {"name": "n", "labels": {"x": "y"}}, "status": {"addresses": []}})
    state.node(None, {"metadata": {"name": "other", "labels": {"topology.kubernetes.io/zone": "z"}}})
    assert not state.changed
    state.node(None, {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}})
    assert state.changed


def test_ranges_of_services():
    state = State(Settings("n"))
    state.service_range(None, {"metadata": {"name": "k"}, "spec": {"cidrs": ["10.96.0.0/16", "fd00::/108"]}})
    found = state.changes()
    assert [found[each].frame.service_ranges for each in (4, 6)] == [("10.96.0.0/16",), ("fd00::/108",)]


def test_where_node_ports_are():
    # v1.36.4 pkg/proxy/util/nodeport_addresses.go; cmd/kube-proxy/app/options.go (primary)
    state = State(Settings("n", node_port_ranges=("192.0.2.0/24", "primary", "fd00::/64")))
    assert state.changes()[4].frame.node_port_ranges == ("192.0.2.0/24",)
    addresses = [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.1"}]
    addresses += [{"type": "InternalIP", "address": "fd01::1"}, {"type": "InternalIP", "address": "10.0.0.2"}]
    state.node(None, {"metadata": {"name": "n"}, "status": {"addresses": addresses}})
    found = state.changes()
    assert found[4].frame.node_port_ranges == ("192.0.2.0/24", "10.0.0.1/32")
    assert found[6].frame.node_port_ranges == ("fd01::1/128", "fd00::/64")


def test_udp_is_noticed():
    state = State(Settings("n"))
    state.service(None, service("t", protocol="TCP"))
    state.changes()
    assert not state.udp_moved
    state.service(None, service())
    state.slice(None, slice_of("10.1.0.1"))
    state.changes()
    assert state.udp_moved
    ports, serving = state.udp(4)
    assert [each.name.service for each in ports] == ["s"]
    assert list(serving.values()) == [frozenset({("10.1.0.1", 5353)})]


LISTED = """udp      17 29 src=10.1.0.9 dst=10.96.0.7 sport=4444 dport=53 src=10.1.0.1 dst=10.1.0.9 sport=5353 dport=4444 use=1
udp      17 27 src=10.1.0.9 dst=10.96.0.7 sport=4445 dport=53 [UNREPLIED] src=10.1.0.2 dst=10.1.0.9 sport=5353 dport=4445
udp      17 27 src=192.0.2.9 dst=192.0.2.1 sport=4446 dport=30053 src=10.1.0.1 dst=10.0.0.1 sport=5353 dport=4446 [ASSURED]
udp      17 27 src=10.1.0.9 dst=8.8.8.8 sport=4447 dport=53 src=8.8.8.8 dst=192.0.2.1 sport=53 dport=4447 [ASSURED]
conntrack v1.4.7 (conntrack-tools): 4 flow entries have been shown.
"""


def test_flows_to_endpoints_that_are_gone():
    # v1.36.4 pkg/proxy/conntrack/cleanup.go CleanStaleEntries; cleanup_test.go
    known = list(conntrack.flows(LISTED))
    assert known[0] == Flow("10.1.0.9", 4444, "10.96.0.7", 53, ("10.1.0.1", 5353))
    name = PortName("default", "s", "p", "udp")
    port = PortRules(name, "10.96.0.7", 53, "endpoints", "endpoints", True, node_port=30053)
    serving = {name: frozenset({("10.1.0.2", 5353)})}
    found = list(conntrack.stale(known, [port], serving))
    assert [each.source_port for each in found] == [4444, 4446]
    assert " ".join(conntrack.forget(found[0])) == "-D -p udp -s 10.1.0.9 --sport 4444 -d 10.96.0.7 --dport 53"
    # Nobody answers any more: the flows may stay, there is nowhere else to send them.
    assert list(conntrack.stale(known, [port], {name: frozenset()})) == []
