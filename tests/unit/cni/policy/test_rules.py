"""Who may talk to whom (https://kubernetes.io/docs/concepts/services-networking/network-policies/)."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from tiphys.cni.policy import objects
from tiphys.cni.policy.objects import Block, Ports
from tiphys.cni.policy.rules import isolation

NAMESPACES = {"x": {"team": "x"}, "y": {"team": "y"}}
NAMES = ("a", "b")
ADDRESSES = {
    (space, name): f"10.{2 * number + at}.0.1" for number, space in enumerate(NAMESPACES) for at, name in enumerate(NAMES)
}


def pod(space, name, node="n", **more):
    containers = [{"name": "c", "ports": [{"name": "web", "containerPort": 80 if name == "a" else 81}]}]
    return {
        "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": containers, **more},
        "status": {"podIPs": [{"ip": ADDRESSES[space, name]}]},
    }


def policy(name="p", space="x", selector=None, **spec):
    return {"metadata": {"name": name, "namespace": space}, "spec": {"podSelector": selector or {}, **spec}}


def isolated(*policies, node="n", pods=None):
    found = [pod(*key) for key in ADDRESSES] if pods is None else pods
    return isolation(node, map(objects.policy, policies), filter(None, map(objects.pod, found)), NAMESPACES)


def test_a_policy_is_about_the_pods_of_its_namespace_and_its_types_alone():
    found = isolated(policy(policyTypes=["Ingress"], selector={"matchLabels": {"app": "a"}}))
    assert [(each.key, each.ingress, each.egress) for each in found.pods] == [(("x", "a"), (("x", "p"),), None)]
    assert found.ingress == {("x", "p"): ()}
    assert found.closed


def test_nothing_is_isolated_without_policies():
    found = isolated()
    assert (found.pods, found.closed) == ((), False)
    assert found.known == frozenset(ADDRESSES.values())


def test_only_pods_of_this_node_matter_but_peers_are_everywhere():
    pods = [pod("x", "a"), pod("x", "b", node="other")]
    rule = {"from": [{"podSelector": {}}]}
    found = isolated(policy(policyTypes=["Ingress"], ingress=[rule]), pods=pods)
    assert [each.key for each in found.pods] == [("x", "a")]
    assert list(found.groups.values()) == [{ADDRESSES["x", "a"], ADDRESSES["x", "b"]}]


def test_pods_of_the_nodes_network_and_pods_that_are_over_are_nobody():
    over = pod("x", "b")
    over["status"]["phase"] = "Succeeded"
    assert objects.pod(over) is None
    assert objects.pod(pod("x", "a", hostNetwork=True)) is None
    assert objects.pod({**pod("x", "a"), "status": {}}) is None


def test_peers():
    both = {"namespaceSelector": {"matchLabels": {"team": "y"}}, "podSelector": {"matchLabels": {"app": "b"}}}
    either = [{"namespaceSelector": {}}, {"podSelector": {"matchLabels": {"app": "b"}}}]
    found = isolated(policy(policyTypes=["Ingress"], ingress=[{"from": [both]}]))
    assert list(found.groups.values()) == [{ADDRESSES["y", "b"]}]
    found = isolated(policy(policyTypes=["Ingress"], ingress=[{"from": either}]))
    assert set(found.groups.values()) == {frozenset(ADDRESSES.values()), frozenset({ADDRESSES["x", "b"]})}


def test_ports_and_blocks_as_they_are_written():
    ports = [{"protocol": "UDP"}, {"port": 80, "protocol": "TCP", "endPort": 90}, {"port": "web", "protocol": "TCP"}]
    block = {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}
    found = objects.policy(policy(policyTypes=["Egress"], egress=[{"to": [block], "ports": ports}]))
    assert found.ingress is None
    (rule,) = found.egress
    assert rule.ports == (Ports("udp"), Ports("tcp", 80, 90), Ports("tcp", name="web"))
    assert rule.blocks == (Block("10.0.0.0/8", ("10.1.0.0/16",)),)
    assert not rule.anybody


def test_a_ports_name_means_what_each_pod_says():
    found = isolated(policy(policyTypes=["Egress"], egress=[{"ports": [{"protocol": "TCP", "port": "web"}]}]))
    numbers = {ADDRESSES[key]: 80 if key[1] == "a" else 81 for key in ADDRESSES}
    assert found.named_ports == {("tcp", "web"): frozenset(numbers.items())}


# What the documentation says, in the plainest words, beside what is worked out for the kernel.

LABELS = st.sampled_from([{}, {"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}])
SPACES = st.sampled_from([None, {}, {"matchLabels": {"team": "y"}}])
PEERS = st.one_of(
    st.builds(
        lambda pods, spaces: {"podSelector": pods} | ({"namespaceSelector": spaces} if spaces is not None else {}),
        LABELS,
        SPACES,
    ),
    st.sampled_from([{"ipBlock": {"cidr": "10.0.0.0/14", "except": ["10.1.0.0/16"]}}, {"ipBlock": {"cidr": "10.2.0.1/32"}}]),
)
PORTS = st.sampled_from([{"protocol": "TCP", "port": 80}, {"protocol": "TCP", "port": 80, "endPort": 81}, {"protocol": "UDP"}])
POLICIES = st.lists(
    st.builds(
        lambda space, selector, direction, rules: policy(
            "", space, selector, policyTypes=[direction], **{direction.lower(): rules(direction)}
        ),
        st.sampled_from(list(NAMESPACES)),
        LABELS,
        st.sampled_from(["Ingress", "Egress"]),
        st.lists(st.tuples(st.lists(PEERS, max_size=2), st.lists(PORTS, max_size=2)), max_size=2).map(
            lambda drawn: (
                lambda direction: [
                    {"from" if direction == "Ingress" else "to": peers, "ports": ports} for peers, ports in drawn
                ]
            )
        ),
    ),
    max_size=4,
).map(lambda drawn: [{**each, "metadata": {**each["metadata"], "name": f"p{at}"}} for at, each in enumerate(drawn)])
ENDS = st.sampled_from(list(ADDRESSES))


def chosen(selector, labels):
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())


def plainly_allowed(policies, direction, own, other, protocol, port):
    about = [
        each["spec"]
        for each in policies
        if each["metadata"]["namespace"] == own[0]
        and direction in each["spec"]["policyTypes"]
        and chosen(each["spec"]["podSelector"], {"app": own[1]})
    ]
    return not about or any(
        plainly_matches(rule, space, other, protocol, port)
        for spec, space in ((each, own[0]) for each in about)
        for rule in spec[direction.lower()]
    )


def plainly_matches(rule, space, other, protocol, port):
    peers = rule.get("from") or rule.get("to") or []
    return (not peers or any(plainly_is(peer, space, other) for peer in peers)) and (
        not rule["ports"]
        or any(
            each["protocol"] == protocol and ("port" not in each or each["port"] <= port <= each.get("endPort", each["port"]))
            for each in rule["ports"]
        )
    )


def plainly_is(peer, space, other):
    if "ipBlock" in peer:
        address = ipaddress.ip_address(ADDRESSES[other])
        inside = address in ipaddress.ip_network(peer["ipBlock"]["cidr"])
        return inside and not any(address in ipaddress.ip_network(each) for each in peer["ipBlock"].get("except", ()))
    if not chosen(peer["podSelector"], {"app": other[1]}):
        return False
    spaces = peer.get("namespaceSelector")
    return other[0] == space if spaces is None else chosen(spaces, NAMESPACES[other[0]])


def allowed(found, direction, own, other, protocol, port):
    """What the isolation says, read as the kernel does."""
    mine = next((each for each in found.pods if each.key == own), None)
    keys = None if mine is None else mine.ingress if direction == "Ingress" else mine.egress
    rules = found.ingress if direction == "Ingress" else found.egress
    return keys is None or any(
        matches(found, rule, ADDRESSES[other], protocol.lower(), port) for key in keys for rule in rules[key]
    )


def matches(found, rule, address, protocol, port):
    number = ipaddress.ip_address(address)
    blocks = [
        each
        for each in rule.blocks
        if number in ipaddress.ip_network(each.network)
        and not any(number in ipaddress.ip_network(out) for out in each.excepted)
    ]
    peers = rule.anybody or blocks or any(address in found.groups[who] for who in rule.who)
    return peers and (
        not rule.ports
        or any(each.protocol == protocol and (not each.first or each.first <= port <= each.last) for each in rule.ports)
    )


@given(POLICIES, ENDS, ENDS, st.sampled_from(["TCP", "UDP"]), st.sampled_from([79, 80, 81, 82]))
def test_what_is_worked_out_is_what_the_policies_say(policies, own, other, protocol, port):
    found = isolated(*policies)
    for direction in ("Ingress", "Egress"):
        asked = (direction, own, other, protocol, port)
        assert bool(allowed(found, *asked)) == plainly_allowed(policies, *asked)
