"""Isolation as rules of nftables: names that the kernel takes, sets without overlaps, and only what differs is written."""

import re

from tiphys.cni import table
from tiphys.cni.policy import objects, render
from tiphys.cni.policy.rules import isolation
from tiphys.cni.table import Content


def pod(name, *addresses, space="default"):
    return {
        "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"podIPs": [{"ip": each} for each in addresses]},
    }


def policy(name="p", **spec):
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"podSelector": {}, **spec}}


def rendered(policies, pods):
    found = isolation("n", map(objects.policy, policies), map(objects.pod, pods), {"default": {}})
    return render.content(found, "tph0")


def rules(content, word):
    return next(chain.rules for name, chain in content.chains.items() if word in name)


def test_an_isolated_pod():
    content = rendered([policy(policyTypes=["Ingress"])], [pod("a", "10.1.0.2", "fd01::2")])
    (chain,) = [name for name in content.chains if name.startswith("receiving-pod")]
    assert content.elements["receiving-4"] == {"10.1.0.2": f"goto {chain}"}
    assert content.elements["receiving-6"] == {"fd01::2": f"goto {chain}"}
    assert content.elements["sending-4"] == {}
    assert content.chains[chain].rules[0] == "ip saddr 10.1.0.2 accept"
    assert content.chains[chain].rules[-1] == "counter drop"
    assert "ct state established,related accept" in content.chains["receiving"].rules
    assert "iifname tph0 ip saddr != @known-4 counter drop" in content.chains["sending"].rules


def test_without_policies_nobody_is_kept_out():
    content = rendered([], [pod("a", "10.1.0.2")])
    assert not any("drop" in rule for chain in content.chains.values() for rule in chain.rules)


def test_ports_that_overlap_become_one_range():
    ports = [{"protocol": "TCP", "port": each, "endPort": last} for each, last in ((80, 90), (85, 95), (96, 97))]
    ports += [{"protocol": "SCTP", "port": 5}, {"protocol": "UDP"}]
    content = rendered([policy(policyTypes=["Ingress"], ingress=[{"ports": ports}])], [pod("a", "10.1.0.2")])
    found = rules(content, "receiving-policy")
    assert "meta nfproto ipv4 tcp dport { 80-97 } accept" in found
    assert "meta nfproto ipv6 sctp dport { 5 } accept" in found
    assert "meta nfproto ipv4 meta l4proto udp accept" in found


def test_blocks_of_both_families():
    blocks = [
        {"ipBlock": {"cidr": "10.0.0.7/8", "except": ["10.1.0.0/16", "10.1.2.0/24", "10.2.0.0/16"]}},
        {"ipBlock": {"cidr": "fd00::/8"}},
    ]
    content = rendered([policy(policyTypes=["Egress"], egress=[{"to": blocks}])], [pod("a", "10.1.0.2")])
    assert rules(content, "sending-policy") == (
        "ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/16, 10.2.0.0/16 } accept",
        "ip6 daddr fd00::/8 accept",
    )


def test_a_pod_more_costs_its_own_elements():
    rule = {"from": [{"podSelector": {"matchLabels": {"app": "b"}}}]}
    policies = [policy(policyTypes=["Ingress"], ingress=[rule])]
    before = rendered(policies, [pod("a", "10.1.0.2")])
    after = rendered(policies, [pod("a", "10.1.0.2"), pod("b", "10.1.0.3")])
    lines = table.change("inet t", before, after).text.splitlines()
    assert not any("flush" in line for line in lines)
    assert sum("10.1.0.3" in line for line in lines) == 4  # its map, its group, that it is known, and its chain to itself


def test_names_are_short_enough_for_the_kernel_and_legal():
    long = "n" * 253
    content = rendered([{**policy(long, policyTypes=["Ingress", "Egress"])}], [pod(long, "10.1.0.2")])
    for name in (*content.chains, *content.containers):
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9/._-]{0,126}", name)


def test_what_goes_away_leaves_nothing():
    full = rendered([policy(policyTypes=["Ingress"])], [pod("a", "10.1.0.2")])
    change = table.change("inet t", full, Content())
    assert change.after.count("delete chain") == len(full.chains)
    assert change.after.count("delete ") == len(full.chains) + len(full.containers)
