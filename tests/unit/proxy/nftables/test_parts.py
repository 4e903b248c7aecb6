"""Services as text for nft, and what changes from one to the next. That the kernel takes it, the integration tests see."""

import re
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tiphys.proxy.ledger import BASE, EMPTY, Delta, Ledger
from tiphys.proxy.nftables import parts, table
from tiphys.proxy.nftables.table import Table
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import PortName

TABLE = Table("ip", "tiphys-proxy", parts.HOOKS)


def port(name="s", address="10.96.0.7", endpoints=(("10.1.0.1", 8080),), **more) -> PortRules:
    fate = "endpoints" if endpoints else "reject"
    values = {"internal": fate, "external": fate, "anywhere": bool(endpoints), "cluster": endpoints, **more}
    return PortRules(name=PortName("default", name, "web", "tcp"), cluster_ip=address, port=80, **values)


@dataclass
class Whole:
    """What a table has."""

    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    containers: dict[str, str] = field(default_factory=dict)
    elements: dict[str, dict[str, str]] = field(default_factory=dict)


def staying(name="s", endpoints=(("10.1.0.1", 80),), **more) -> PortRules:
    """What comes from outside stays on the node, where all endpoints are."""
    return port(name, endpoints=endpoints, local=endpoints, external_local=True, **more)


def ledger(*ports: PortRules, **options) -> Ledger:
    made = Ledger()
    frame = Frame(4, **options)
    made.put(BASE, parts.base(frame))
    for each in ports:
        made.put((each.name.namespace, each.name.service), parts.part((each,), frame))
    return made


def whole(everything: Delta) -> Whole:
    return Whole(
        {name: new for name, (_, new) in everything.chains.items()},
        {name: new.definition for name, (_, new) in everything.containers.items()},
        {name: {key: new for key, (_, new) in each.items()} for name, each in everything.elements.items()},
    )


def written(*ports: PortRules, **options) -> Whole:
    return whole(ledger(*ports, **options).everything())


def chain(of: Whole, what: str) -> tuple[str, ...]:
    (found,) = (rules for name, rules in of.chains.items() if name.startswith(f"{what}-") and "/" in name)
    return found


def test_endpoints_share_at_random():
    """Chains are shared by all Services with as many endpoints; the addresses are elements of a map."""
    two, others = (("10.1.0.1", 8080), ("10.1.0.2", 8080)), (("10.1.0.3", 8080), ("10.1.0.4", 8080))
    made = written(port("a", endpoints=two), port("b", "10.96.0.8", endpoints=others))
    rule = "dnat ip addr . port to ip daddr . tcp dport . numgen random mod 2 map @endpoints-tcp"
    assert made.chains["endpoints-tcp-2"] == (f"meta l4proto tcp {rule}",)
    assert made.elements["service-ips"] == {
        "10.96.0.7 . tcp . 80": "goto endpoints-tcp-2",
        "10.96.0.8 . tcp . 80": "goto endpoints-tcp-2",
    }
    assert made.elements["endpoints-tcp"] == {
        "10.96.0.7 . 80 . 0": "10.1.0.1 . 8080",
        "10.96.0.7 . 80 . 1": "10.1.0.2 . 8080",
        "10.96.0.8 . 80 . 0": "10.1.0.3 . 8080",
        "10.96.0.8 . 80 . 1": "10.1.0.4 . 8080",
    }
    assert not any("/" in name for name in made.chains)


def test_a_chain_that_is_shared_is_there_as_long_as_one_needs_it():
    kept = ledger(port("a"), port("b", "10.96.0.8"))
    kept.everything()
    kept.put(("default", "a"), EMPTY)
    assert "endpoints-tcp-1" not in kept.changes().chains
    kept.put(("default", "b"), EMPTY)
    assert kept.changes().chains["endpoints-tcp-1"][1] is None


def test_nobody_behind_it():
    # v1.36.4 pkg/proxy/nftables/proxier.go: no endpoints refuse, none on this node drop
    assert written(port(endpoints=())).elements["no-endpoint-services"] == {"10.96.0.7 . tcp . 80": "goto reject-chain"}
    away = written(port(internal="drop", internal_local=True, cluster=()))
    assert away.elements["no-endpoint-services"] == {"10.96.0.7 . tcp . 80": "drop"}


def test_traffic_from_outside():
    # v1.36.4 pkg/proxy/nftables/proxier.go:1411-1470
    everywhere = written(port(node_port=30000, external_ips=("1.2.3.4",)))
    assert everywhere.chains["nodeport-tcp-1"] == (
        "mark set mark or 0x00004000",
        "meta l4proto tcp dnat ip addr . port to tcp dport . numgen random mod 1 map @nodeport-endpoints-tcp",
    )
    assert everywhere.chains["external-tcp-1"][0] == "mark set mark or 0x00004000"
    assert everywhere.elements["nodeport-endpoints-tcp"] == {"30000 . 0": "10.1.0.1 . 8080"}
    assert everywhere.elements["endpoints-tcp"]["1.2.3.4 . 80 . 0"] == "10.1.0.1 . 8080"
    here = port(node_port=30000, external_local=True, local=(("10.1.0.1", 8080),))
    rules = chain(written(here, pod_ranges=("10.1.0.0/16",)), "external")
    conditions = [re.sub(r" (goto|mark) .*", "", each) for each in rules]
    assert conditions == ["ip saddr { 10.1.0.0/16 }", "fib saddr type local", "fib saddr type local", rules[3]]
    assert rules[3].startswith("goto local-")
    assert list(written(here).elements["service-nodeports"]) == ["tcp . 30000"]


def test_affinity():
    made = written(port(affinity_seconds=60))
    (name,) = (each for each in made.containers if each.startswith("affinity-60-"))
    assert made.containers[name] == "{ type ipv4_addr ; flags dynamic,timeout ; timeout 60s ; }"
    assert chain(made, "endpoint") == (f"update @{name} {{ ip saddr }}", "meta l4proto tcp dnat to 10.1.0.1:8080")
    assert chain(made, "cluster")[0].startswith(f"ip saddr @{name} goto endpoint-")


def test_a_firewall():
    made = written(port(load_balancer_ips=("5.6.7.8",), sources=("10.0.0.0/8", "5.6.7.8")))
    assert chain(made, "firewall") == ("ip saddr != { 10.0.0.0/8, 5.6.7.8 } drop",)
    assert list(made.elements["firewall-ips"]) == ["5.6.7.8 . tcp . 80"]


def test_an_address_that_two_services_claim_has_one_owner():
    one, other = (("10.1.0.1", 8080),), (("10.1.0.2", 8080), ("10.1.0.3", 8080))
    made = written(
        port("a", endpoints=one, external_ips=("1.2.3.4",)),
        port("b", "10.96.0.8", endpoints=other, external_ips=("1.2.3.4",)),
    )
    assert made.elements["service-ips"]["1.2.3.4 . tcp . 80"] == "goto external-tcp-1"
    assert made.elements["endpoints-tcp"]["1.2.3.4 . 80 . 0"] == "10.1.0.1 . 8080"


def test_pods_of_other_clusters_are_left_alone():
    """Ours alone, not upstream's: two clusters on one machine may use the same addresses for their Services."""
    made = written(port(), pod_ranges=("10.244.7.0/24",), neighbours=("10.244.0.0/16",))
    for name in ("nat-prerouting", "filter-forward", "filter-input", "filter-prerouting-pre-dnat"):
        assert made.chains[name][0] == "ip saddr { 10.244.0.0/16 } ip saddr != { 10.244.7.0/24 } return"
    assert written(port(), neighbours=("10.244.0.0/16",)).chains["nat-prerouting"] == ("jump services",)


def test_names_of_chains():
    long = PortName("n" * 63, "s" * 63, "p" * 15, "sctp")
    name = parts.chain_name("endpoint", long, ("fd00::1", 8080))
    assert len(name) <= 120
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9/.-]*", name)
    assert parts.chain_name("endpoint", long, ("fd00::2", 8080)) != name


def test_node_ports_at_some_addresses_only():
    # v1.36.4 pkg/proxy/nftables/proxier.go: nodePortIPs
    made = written(port(node_port=30000), node_port_ranges=("192.0.2.0/24",))
    assert made.elements["nodeport-ips"] == {"192.0.2.0/24": ""}
    assert "fib daddr type local ip daddr @nodeport-ips meta" in made.chains["services"][-1]


def test_only_what_differs_is_written():
    many = ledger(*(port(f"s{n}", f"10.96.1.{n}") for n in range(100)))
    many.everything()
    many.put(("default", "s99"), parts.part((port("s99", "10.96.1.99", (("10.1.0.2", 8080),)),), Frame(4)))
    text = table.change(TABLE, many.changes()).text
    assert text == (
        "delete element ip tiphys-proxy endpoints-tcp { 10.96.1.99 . 80 . 0 }\n"
        "add element ip tiphys-proxy endpoints-tcp { 10.96.1.99 . 80 . 0 : 10.1.0.2 . 8080 }\n"
    )
    assert table.change(TABLE, many.changes()).text == ""


def apply(state: dict, text: str) -> dict:
    """What the kernel would have after a transaction, with its refusals: a model of `nft -f`."""
    chains, containers, elements = (
        dict(state["chains"]),
        set(state["containers"]),
        {k: dict(v) for k, v in state["elements"].items()},
    )
    for line in text.splitlines():
        verb, what, _, _, *rest = line.split(" ", 5)
        match verb, what:
            case "add" | "delete", "table":
                if verb == "delete":
                    chains, containers, elements = {}, set(), {}
            case "add", "chain":
                chains.setdefault(rest[0], ())
            case "flush", "chain":
                assert rest[0] in chains
                chains[rest[0]] = ()
            case "delete", "chain":
                del chains[rest[0]]
            case "add", "rule":
                chains[rest[0]] += (rest[1],)
            case "add", "set" | "map":
                assert rest[0] not in containers
                containers.add(rest[0])
            case "delete", "set" | "map":
                assert not any(f"@{rest[0]} " in rule for rules in chains.values() for rule in rules)
                containers.remove(rest[0])
                elements.pop(rest[0], None)
            case "add", "element":
                for each in rest[1].strip("{} ").split(", "):
                    key, _, value = each.partition(" : ")
                    assert key not in elements.setdefault(rest[0], {})
                    elements[rest[0]][key] = value
            case "delete", "element":
                for key in rest[1].strip("{} ").split(", "):
                    del elements[rest[0]][key]
            case _:
                raise AssertionError(line)
    said = [value for each in elements.values() for value in each.values()]
    said += [rule for rules in chains.values() for rule in rules]
    for target in re.findall(r"(?:goto|jump) ([^ ,]+)", " ".join(said)):
        assert target in chains
    return {"chains": chains, "containers": containers, "elements": elements}


addresses = st.sampled_from([("10.1.0.1", 80), ("10.1.0.2", 80), ("10.1.0.3", 80)])
some_ports = st.lists(
    st.builds(
        lambda make, **values: make(**values),
        make=st.sampled_from([port, staying]),
        name=st.sampled_from(["a", "b", "c"]),
        endpoints=st.lists(addresses, max_size=3, unique=True).map(tuple),
        node_port=st.sampled_from([0, 30000]),
        affinity_seconds=st.sampled_from([0, 60, 90]),
        external_ips=st.sampled_from([(), ("1.2.3.4",)]),
    ),
    max_size=3,
    unique_by=lambda each: each.name,
)


@given(st.lists(some_ports, min_size=1, max_size=5))
def test_step_by_step_is_as_good_as_all_at_once(steps):
    """What never must happen: rules that are left over or lacking after a change, or a transaction that is refused."""
    kept, state, stale = None, {"chains": {}, "containers": set(), "elements": {}}, set()
    for ports in steps:
        if kept is None:
            kept = ledger(*ports)
            change = table.create(TABLE, kept.everything())
        else:
            wanted = {each.name.service: each for each in ports}
            for name in ("a", "b", "c"):
                kept.put(("default", name), parts.part((wanted[name],), Frame(4)) if name in wanted else EMPTY)
            change = table.change(TABLE, kept.changes())
        state = apply(state, change.text)
        stale = (stale | change.stale) - change.back
        now = written(*ports)
        left = {name: rules for name, rules in state["chains"].items() if name not in stale}
        elements = {name: each for name, each in state["elements"].items() if each}
        assert {**state, "chains": left, "elements": elements} == {
            "chains": now.chains,
            "containers": set(now.containers),
            "elements": now.elements,
        }
        assert all(state["chains"][name] == () for name in stale)
    state = apply(state, table.remove_chains(TABLE, stale))
    assert state["chains"] == now.chains
