"""Services as text for iptables-restore, and what changes from one to the next. That the kernel takes it, other tests see."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.proxy.iptables import restore
from tiphys.proxy.iptables.parts import JUMPS, Parts, prefix
from tiphys.proxy.iptables.restore import Found
from tiphys.proxy.ledger import BASE, EMPTY, Ledger
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import PortName

OWN = prefix("tiphys-proxy")
PARTS = Parts(OWN)
KERNEL = {f"{table}{chain}": [] for table, chain in JUMPS}
"""Chains that are always there."""


def port(name="s", address="10.96.0.7", endpoints=(("10.1.0.1", 8080),), **more) -> PortRules:
    fate = "endpoints" if endpoints else "reject"
    values = {"internal": fate, "external": fate, "anywhere": bool(endpoints), "cluster": endpoints, **more}
    return PortRules(name=PortName("default", name, "web", "tcp"), cluster_ip=address, port=80, **values)


def ledger(*ports: PortRules, **options) -> Ledger:
    made = Ledger()
    frame = Frame(4, **options)
    made.put(BASE, PARTS.base(frame))
    for each in ports:
        made.put((each.name.namespace, each.name.service), PARTS.part((each,), frame))
    return made


def restored(state: dict[str, list[str]], text: str) -> dict[str, list[str]]:
    """What the kernel would have after `iptables-restore --noflush`, with its refusals: a model."""
    after = {name: list(rules) for name, rules in state.items()}
    table = ""
    for line in text.splitlines():
        what, _, rest = line.partition(" ")
        name, _, rule = rest.partition(" ")
        match what[:1], what:
            case "*", _:
                table = what[1:] + " "
            case ":", _:
                after[table + what[1:]] = []
            case _, "-A":
                after[table + name].append(rule)
            case _, "-I":
                after[table + name].insert(0, rule)
            case _, "-D":
                after[table + name].remove(rule)
            case _, "-X":
                assert after.pop(table + name) == []
            case _, "COMMIT":
                for chain, rules in after.items():
                    for target in re.findall(rf"-j ({re.escape(OWN)}\S+)", "\n".join(rules)):
                        assert chain.split()[0] + " " + target in after, (chain, target)
            case _:
                raise AssertionError(line)
    return after


def saved(state: dict[str, list[str]]) -> str:
    """What iptables-save would say."""
    lines = []
    for table in ("nat", "filter"):
        own = {name.split()[1]: rules for name, rules in state.items() if name.startswith(f"{table} ")}
        lines += [f"*{table}", *(f":{name} - [0:0]" for name in own)]
        lines += [*(f"-A {name} {rule}" for name, rules in own.items() for rule in rules), "COMMIT"]
    return "\n".join(lines)


def written(*ports: PortRules, **options) -> dict[str, list[str]]:
    return restored(KERNEL, restore.create(OWN, ledger(*ports, **options).everything(), Found()))


def chain(of: dict[str, list[str]], what: str) -> list[str]:
    (found,) = (rules for name, rules in of.items() if name.startswith(f"nat {OWN}{what}-"))
    return [re.sub(rf"{re.escape(OWN)}([A-Z]+)-[A-Z2-7]{{16}}", r"\1", each) for each in found]


def shared(of: dict[str, list[str]], table: str, name: str) -> list[str]:
    return [re.sub(rf"{re.escape(OWN)}([A-Z]+)-[A-Z2-7]{{16}}", r"\1", each) for each in of[f"{table} {OWN}{name}"]]


def test_endpoints_share_by_chance():
    # v1.36.4 pkg/proxy/iptables/proxier.go:1470: the first of n takes 1/n, the next 1/(n-1), the last what is left
    made = written(port(endpoints=tuple((f"10.1.0.{n}", 8080) for n in (1, 2, 3))))
    assert shared(made, "nat", "FRONT-7") == ["-d 10.96.0.7 -p tcp -m tcp --dport 80 -j SVC"]
    chances = [re.search(r"--probability (\S+)", each) for each in chain(made, "SVC")]
    assert [each and each[1] for each in chances] == ["0.3333333333", "0.5000000000", None]
    assert chain(made, "SVC")[-1] == "-p tcp -m tcp -j DNAT --to-destination 10.1.0.3:8080"


def test_nobody_behind_it():
    # v1.36.4 pkg/proxy/iptables/proxier.go:839: no endpoints refuse, none on this node drop
    match = "-d 10.96.0.7 -p tcp -m tcp --dport 80"
    assert shared(written(port(endpoints=())), "filter", "REFUSED") == [f"{match} -j REJECT"]
    away = written(port(internal="drop", internal_local=True, cluster=()))
    assert shared(away, "filter", "REFUSED") == [f"{match} -j DROP"]
    node_port = written(port(endpoints=(), node_port=30000))
    expected = ["-p tcp -m tcp --dport 30000 -m conntrack --ctstate NEW -j REJECT"]
    assert shared(node_port, "filter", "NODEPORTS") == expected


def test_traffic_from_outside():
    # v1.36.4 pkg/proxy/iptables/proxier.go:1108-1170
    assert chain(written(port(node_port=30000)), "EXT") == [f"-j {OWN}MASQ", "-j SVC"]
    here = port(node_port=30000, external_local=True, local=(("10.1.0.1", 8080),))
    made = written(here, pod_ranges=("10.1.0.0/16",))
    assert chain(made, "EXT") == [
        "-s 10.1.0.0/16 -j SVC",
        f"-m addrtype --src-type LOCAL -j {OWN}MASQ",
        "-m addrtype --src-type LOCAL -j SVC",
        "-j SVL",
    ]
    assert shared(made, "nat", "NODEPORTS") == ["-p tcp -m tcp --dport 30000 -j EXT"]
    assert chain(written(here, pod_interface="veth+"), "EXT")[0] == "-i veth+ -j SVC"


@pytest.mark.parametrize(
    ("options", "outside"),
    [
        ({"pod_ranges": ("10.1.0.0/16", "10.2.0.0/16")}, ["-s 10.1.0.0/16 -j RETURN", "-s 10.2.0.0/16 -j RETURN"]),
        ({"pod_interface": "cni0", "pod_ranges": ("10.1.0.0/16",)}, ["-i cni0 -j RETURN"]),
        ({"masquerade_all": True, "pod_ranges": ("10.1.0.0/16",)}, []),
    ],
)
def test_what_is_masqueraded(options, outside):
    # v1.36.4 pkg/proxy/iptables/proxier.go:1080 (localDetector, masqueradeAll)
    made = written(port(), **options)
    assert chain(made, "SVC")[0] == f"-d 10.96.0.7 -p tcp -m tcp --dport 80 -j {OWN}OUTSIDE"
    assert shared(made, "nat", "OUTSIDE") == [*outside, f"-j {OWN}MASQ"]
    assert len(chain(written(port()), "SVC")) == 1


def test_a_pod_that_reaches_itself_sees_another_source():
    made = written(port(on_this_node=(("10.1.0.1", 8080),)))
    assert shared(made, "nat", "HAIRPIN") == ["-s 10.1.0.1 -d 10.1.0.1 -j MASQUERADE --random-fully"]


def test_affinity():
    # v1.36.4 pkg/proxy/iptables/proxier.go:1440
    made = written(port(affinity_seconds=60))
    assert chain(made, "SVC") == ["-m recent --name SEP --rcheck --seconds 60 --reap -j SEP", "-j SEP"]
    assert chain(made, "SEP") == ["-m recent --name SEP --set -p tcp -m tcp -j DNAT --to-destination 10.1.0.1:8080"]


def test_a_firewall():
    # v1.36.4 pkg/proxy/iptables/proxier.go:1175: who falls through has not been sent anywhere, and is dropped
    made = written(port(load_balancer_ips=("5.6.7.8",), external_ips=("5.6.7.9",), sources=("10.0.0.0/8", "5.6.7.8")))
    assert chain(made, "FW") == ["-s 10.0.0.0/8 -j EXT", "-s 5.6.7.8 -j EXT"]
    assert shared(made, "nat", "FRONT-8") == ["-d 5.6.7.8 -p tcp -m tcp --dport 80 -j FW"]
    assert shared(made, "nat", "FRONT-9") == ["-d 5.6.7.9 -p tcp -m tcp --dport 80 -j EXT"]
    assert shared(made, "filter", "FIREWALL") == ["-d 5.6.7.8 -p tcp -m tcp --dport 80 -j DROP"]


def test_a_port_for_health_checks_is_let_in():
    # v1.36.4 pkg/proxy/iptables/proxier.go:1045
    made = written(port(health_check_port=31000))
    assert shared(made, "filter", "NODEPORTS") == ["-p tcp -m tcp --dport 31000 -j ACCEPT"]


def test_node_ports_at_some_addresses_only():
    made = written(port(node_port=30000), node_port_ranges=("192.0.2.0/24",))
    assert shared(made, "nat", "SERVICES")[-1] == f"-d 192.0.2.0/24 -m addrtype --dst-type LOCAL -j {OWN}NODEPORTS"
    local = written(port(node_port=30000))
    assert shared(local, "nat", "SERVICES")[-1] == f"! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j {OWN}NODEPORTS"
    everywhere = written(port(node_port=30000), localhost_node_ports=True)
    assert shared(everywhere, "nat", "SERVICES")[-1] == f"-m addrtype --dst-type LOCAL -j {OWN}NODEPORTS"
    assert shared(everywhere, "filter", "ARRIVING")[0].startswith("-d 127.0.0.0/8 ! -s 127.0.0.0/8 ")


def test_pods_of_other_clusters_are_left_alone():
    """Ours alone, not upstream's: two clusters on one machine may use the same addresses for their Services."""
    made = written(port(), pod_ranges=("10.244.7.0/24",), neighbours=("10.244.0.0/16",))
    expected = [f"-s 10.244.7.0/24 -j {OWN}SERVICES", "-s 10.244.0.0/16 -j RETURN", f"-j {OWN}SERVICES"]
    assert shared(made, "nat", "PREROUTING") == expected


def test_names_of_chains():
    """The kernel's limit is 28."""
    made = written(port(affinity_seconds=60))
    assert max(len(name.split()[1]) for name in made) <= 28
    assert prefix("tiphys-a") != prefix("tiphys-b")


def test_only_what_differs_is_written():
    many = ledger(*(port(f"s{n}", f"10.96.1.{n}") for n in range(100)))
    many.everything()
    many.put(("default", "s99"), PARTS.part((port("s99", "10.96.1.99", (("10.1.0.2", 8080),)),), Frame(4)))
    text = restore.change(many.changes())
    assert [line.split()[0][:2] for line in text.splitlines()] == ["*n", ":T", "-A", "CO"]
    assert restore.change(many.changes()) == ""


def test_what_an_earlier_proxy_left_goes_and_what_is_not_ours_stays():
    foreign = {"nat DOCKER": ["-j RETURN"], "nat PREROUTING": ["-j DOCKER"]}
    before = restored({**KERNEL, **foreign}, restore.create(OWN, ledger(port("a"), port("b")).everything(), Found()))
    there = restore.found(saved(before), OWN)
    assert there.jumps == set(JUMPS)
    again = restored(before, restore.create(OWN, ledger(port("b")).everything(), there))
    fresh = restored({**KERNEL, **foreign}, restore.create(OWN, ledger(port("b")).everything(), Found()))
    assert again == fresh
    assert restored(again, restore.remove(OWN, restore.found(saved(again), OWN))) == {**KERNEL, **foreign}


addresses = st.sampled_from([("10.1.0.1", 80), ("10.1.0.2", 80), ("10.1.0.3", 80)])
some_ports = st.lists(
    st.builds(
        port,
        name=st.sampled_from(["a", "b", "c"]),
        endpoints=st.lists(addresses, max_size=3, unique=True).map(tuple),
        node_port=st.sampled_from([0, 30000]),
        affinity_seconds=st.sampled_from([0, 60]),
        external_ips=st.sampled_from([(), ("1.2.3.4",)]),
        on_this_node=st.sampled_from([(), (("10.1.0.1", 80),)]),
    ),
    max_size=3,
    unique_by=lambda each: each.name,
)


@given(st.lists(some_ports, min_size=1, max_size=5))
def test_step_by_step_is_as_good_as_all_at_once(steps):
    """What never must happen: rules that are left over or lacking after a change, or a text that is refused."""
    kept, state = None, KERNEL
    for ports in steps:
        if kept is None:
            kept = ledger(*ports)
            text = restore.create(OWN, kept.everything(), Found())
        else:
            wanted = {each.name.service: each for each in ports}
            for name in ("a", "b", "c"):
                kept.put(("default", name), PARTS.part((wanted[name],), Frame(4)) if name in wanted else EMPTY)
            text = restore.change(kept.changes())
        state = restored(state, text)
        now = written(*ports)
        # Rules of shared chains never overlap: their order says nothing.
        assert {name: sorted(rules) for name, rules in state.items()} == {name: sorted(rules) for name, rules in now.items()}
