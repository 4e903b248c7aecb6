"""Rules of NetworkPolicies in a real kernel: a node with a bridge and two pods on it, and a machine outside.

https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

import os

import pytest
from tests.integration.cni.conftest import give, link, several, talk

from tiphys.cni import table
from tiphys.cni.policy import objects, render
from tiphys.cni.policy.rules import isolation
from tiphys.cni.table import Content

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # processes, namespaces, and packets that are waited for in vain
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

AT = "inet tiphys-test"
A, B, A6, B6 = "10.1.0.2", "10.1.0.3", "fd01::2", "fd01::3"
OUTSIDE, NODE = "10.9.0.2", "10.1.0.1"


class Node:
    def __init__(self, spaces):
        self.space, self.a, self.b, self.outside = spaces
        self.written = Content()
        self.known = {"a": (A, A6), "b": (B, B6)}

    def apply(self, *policies):
        """As the service does: the whole table first, then what differs."""
        ports = [{"name": "web", "containerPort": 80}, {"name": "flow", "containerPort": 90, "protocol": "UDP"}]
        pods = [objects.pod(pod(name, addresses, ports)) for name, addresses in self.known.items()]
        wanted = isolation("n", map(objects.policy, policies), pods, {"default": {"team": "x"}})
        content = render.content(wanted, "tph0")
        change = table.change(AT, self.written, content)
        if not self.written.chains:
            self.space.run("nft -f -", table.create(AT, content))
        elif change.text or change.after:
            self.space.run("nft -f -", change.text)
            self.space.run("nft -f -", change.after)
        self.written = content


def pod(name, addresses, ports):
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"nodeName": "n", "containers": [{"ports": ports}]},
        "status": {"podIPs": [{"ip": each} for each in addresses]},
    }


def policy(name="p", app="b", **spec):
    selector = {"matchLabels": {"app": app}} if app else {}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"podSelector": selector, **spec}}


FROM_A = {"podSelector": {"matchLabels": {"app": "a"}}}
DENY = policy("deny", policyTypes=["Ingress"])


@pytest.fixture(scope="module")
def world():
    with several(4) as spaces:
        node, a, b, outside = spaces
        node.run("ip link add tph0 type bridge")
        node.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        give(node, "tph0", f"{NODE}/24", "fd01::1/64")
        node.run("ip link set tph0 up")
        for name, space, addresses in (("va", a, (A, A6)), ("vb", b, (B, B6))):
            link(node, name, space)
            node.run(f"ip link set {name} master tph0")
            give(space, "eth0", f"{addresses[0]}/24", f"{addresses[1]}/64")
            space.run(f"ip route add default via {NODE}")
        link(node, "vo", outside)
        give(node, "vo", "10.9.0.1/24")
        give(outside, "eth0", f"{OUTSIDE}/24", "10.9.0.3/24")
        outside.run("ip route add default via 10.9.0.1")
        for each in (a, b, outside):
            each.serve()
        made = Node(spaces)
        # A node has its table before its first pod: the kernel knows no connections that are older than its rules.
        made.apply()
        yield made


@pytest.fixture
def node(world):
    yield world
    world.known = {"a": (A, A6), "b": (B, B6)}
    world.apply()


def test_without_policies_everybody_talks(node):
    node.apply()
    assert node.a.reaches(B) == A
    assert node.a.reaches(B6) == A6
    assert node.outside.reaches(B) == OUTSIDE


def test_nobody_reaches_an_isolated_pod_but_its_node_and_itself(node):
    with node.a.connect(B) as held:
        assert talk(held) == A
        node.apply(DENY)
        assert node.a.is_kept_from(B)
        assert node.a.is_kept_from(B6)
        assert node.a.is_kept_from(B, 90, udp=True)
        assert node.outside.is_kept_from(B)
        # Probes of the kubelet come from the node.
        assert node.space.reaches(B) == NODE
        assert node.b.reaches(B) == B
        # What was allowed when it began goes on; the isolated pod itself may call whom it likes, and hears the answer.
        assert talk(held) == A
    assert node.b.reaches(A) == B
    node.apply()
    assert node.a.reaches(B) == A


def test_peers_and_ports(node):
    node.apply(DENY, policy(ingress=[{"from": [FROM_A], "ports": [{"protocol": "TCP", "port": 80}]}], policyTypes=["Ingress"]))
    assert node.a.reaches(B) == A
    assert node.a.reaches(B6) == A6
    assert node.a.is_kept_from(B, 81)
    assert node.outside.is_kept_from(B)
    ranged = [{"protocol": "TCP", "port": 81, "endPort": 90}, {"protocol": "TCP", "port": 85}]
    node.apply(DENY, policy(ingress=[{"ports": ranged}], policyTypes=["Ingress"]))
    assert node.a.is_kept_from(B)
    assert node.a.reaches(B, 81) == A
    assert node.outside.reaches(B, 90) == OUTSIDE
    named = [{"protocol": "TCP", "port": "web"}, {"protocol": "UDP", "port": "flow"}]
    node.apply(DENY, policy(ingress=[{"ports": named}], policyTypes=["Ingress"]))
    assert node.a.reaches(B) == A
    assert node.a.reaches(B6, 90, udp=True) == A6
    assert node.a.is_kept_from(B, 81)


def test_blocks_of_addresses(node):
    block = {"cidr": "10.9.0.0/16", "except": ["10.9.0.3/32", "10.9.0.2/31"]}
    node.apply(policy(ingress=[{"from": [{"ipBlock": {"cidr": "10.9.0.0/16"}}]}], policyTypes=["Ingress"]))
    assert node.outside.reaches(B) == OUTSIDE
    node.apply(policy(ingress=[{"from": [{"ipBlock": block}]}], policyTypes=["Ingress"]))
    assert node.outside.is_kept_from(B)


def test_what_a_pod_may_send(node):
    to_b = {"podSelector": {"matchLabels": {"app": "b"}}}
    named = [{"protocol": "TCP", "port": "web"}]
    node.apply(policy(app="a", egress=[{"to": [to_b], "ports": named}], policyTypes=["Egress"]))
    assert node.a.reaches(B) == A
    assert node.a.is_kept_from(B, 81)
    assert node.a.is_kept_from(OUTSIDE)
    assert node.outside.reaches(A) == OUTSIDE
    # Both ends have to agree.
    node.apply(policy(app="a", egress=[{"to": [to_b], "ports": named}], policyTypes=["Egress"]), DENY)
    assert node.a.is_kept_from(B)


def test_a_pod_that_nobody_knows_yet_waits(node):
    # "isolated before they are started": the API may hear of an address only after the pod has begun.
    del node.known["a"]
    node.apply(DENY)
    assert node.a.is_kept_from(OUTSIDE)
    node.known["a"] = (A, A6)
    node.apply(DENY)
    assert node.a.reaches(OUTSIDE) == A
