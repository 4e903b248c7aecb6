"""Services as virtual servers, in the words of ipvsadm, ip and nft, and what changes from one to the next.

The text is compared, and a model takes it as the kernel would, with its refusals.
"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.proxy.ipvs import kernel, parts, servers
from tiphys.proxy.ipvs.servers import Front, Servers
from tiphys.proxy.ledger import BASE, EMPTY, Delta, Ledger
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import PortName

DRAINS = "-m -w 0"
MACHINE = frozenset({"192.0.2.1", "198.51.100.7"})


def port(name="s", address="10.96.0.7", endpoints=(("10.1.0.1", 8080),), protocol="tcp", **more) -> PortRules:
    fate = "endpoints" if endpoints else "reject"
    values = {"internal": fate, "external": fate, "anywhere": bool(endpoints), "cluster": endpoints, **more}
    return PortRules(name=PortName("default", name, "web", protocol), cluster_ip=address, port=80, **values)


def everything(*ports: PortRules, family=4, **options) -> Delta:
    made = Ledger()
    frame = Frame(family, **options)
    made.put(BASE, parts.base(frame))
    for each in ports:
        made.put((each.name.namespace, each.name.service), parts.part((each,), frame))
    return made.everything()


def wanted(*ports: PortRules, **options) -> Servers:
    return servers.sides(everything(*ports, **options), MACHINE)[1]


def text(*ports: PortRules, **options) -> list[str]:
    return servers.change(Servers(), wanted(*ports, **options)).text.splitlines()


def table(*ports: PortRules, **options) -> dict[str, dict[str, str]]:
    found = everything(*ports, **options)
    assert all(container in found.containers for container in found.elements if container.islower())
    return {name: {key: new for key, (_, new) in each.items()} for name, each in found.elements.items()}


def restored(state: dict[str, tuple[str, dict[str, str]]], said: str) -> dict[str, tuple[str, dict[str, str]]]:
    """What the kernel would have after `ipvsadm --restore`: a model. By virtual server, its options and its endpoints."""
    after = {front: (options, dict(real)) for front, (options, real) in state.items()}
    for line in said.splitlines():
        what, flag, front, *rest = line.split()
        key, options = f"{flag} {front}", " ".join(rest)
        real, _, weight = options.removeprefix("-r ").partition(" ")
        match what:
            case "-A":
                assert key not in after
                after[key] = (options, {})
            case "-E":
                after[key] = (options, after[key][1])
            case "-D":
                del after[key]
            case "-a":
                assert real not in after[key][1]
                after[key][1][real] = weight
            case "-e":
                assert real in after[key][1]
                after[key][1][real] = weight
            case "-d":
                del after[key][1][real]
            case _:
                raise AssertionError(line)
    return after


def saved(state: dict[str, tuple[str, dict[str, str]]]) -> str:
    """What ipvsadm --save -n would say."""
    lines = []
    for front, (options, real) in state.items():
        lines += [f"-A {front} {options}", *(f"-a {front} -r {each} {weight}" for each, weight in real.items())]
    return "\n".join(lines)


def listed(front: str, *connections: tuple[str, int, int]) -> str:
    head = (
        "IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n  -> RemoteAddress:Port Forward"
    )
    return "\n".join(
        [head, f"{front} rr persistent 60", *(f"  -> {at}    Masq    0      {a}   {i}" for at, a, i in connections)]
    )


def test_a_service_is_a_virtual_server():
    # v1.36.4 pkg/proxy/ipvs/proxier.go:850 (rr, weight 1, masquerading)
    made = port(endpoints=(("10.1.0.1", 8080), ("10.1.0.2", 8080)))
    assert text(made) == [
        "-A -t 10.96.0.7:80 -s rr",
        "-a -t 10.96.0.7:80 -r 10.1.0.1:8080 -m -w 1",
        "-a -t 10.96.0.7:80 -r 10.1.0.2:8080 -m -w 1",
    ]
    six = port(address="fd00::7", endpoints=(("fd00:2::1", 53),), protocol="udp")
    assert text(six, family=6) == ["-A -u [fd00::7]:80 -s rr", "-a -u [fd00::7]:80 -r [fd00:2::1]:53 -m -w 1"]
    assert text(port(protocol="sctp", endpoints=())) == ["-A --sctp-service 10.96.0.7:80 -s rr"]


@pytest.mark.parametrize(
    ("scheduler", "affinity", "options"),
    [("rr", 60, "-s rr -p 60"), ("lc", 0, "-s lc"), ("mh", 0, "-s mh -b flag-2")],
)
def test_schedulers_and_affinity(scheduler, affinity, options):
    # v1.36.4 pkg/proxy/ipvs/proxier.go:857 (FlagPersistent; FlagSourceHash with mh)
    assert text(port(affinity_seconds=affinity), scheduler=scheduler)[0] == f"-A -t 10.96.0.7:80 {options}"


def test_node_ports_are_at_every_address_of_the_machine():
    # v1.36.4 pkg/proxy/ipvs/proxier.go:1114
    made = [line for line in text(port(node_port=30000)) if line.startswith("-A")][1:]
    assert made == ["-A -t 192.0.2.1:30000 -s rr", "-A -t 198.51.100.7:30000 -s rr"]
    some = [line for line in text(port(node_port=30000), node_port_ranges=("192.0.2.0/24",)) if line.startswith("-A")][1:]
    assert some == ["-A -t 192.0.2.1:30000 -s rr"]


def test_policies():
    # v1.36.4 pkg/proxy/ipvs/proxier.go:1597: with nobody here, traffic that is to stay goes to the others
    both = {"external_local": True, "load_balancer_ips": ("5.6.7.8",), "node_port": 30000}
    here = wanted(port(endpoints=(("10.1.0.1", 1), ("10.1.0.2", 1)), local=(("10.1.0.2", 1),), **both))
    balancer = Front("tcp", "5.6.7.8", 80)
    assert [at for front, at in here.real if front == balancer] == [("10.1.0.2", 1)]
    away = wanted(port(endpoints=(("10.1.0.1", 1),), **both))
    assert [at for front, at in away.real if front == balancer] == [("10.1.0.1", 1)]
    inside = table(port(internal="drop", internal_local=True, endpoints=(), anywhere=True))
    assert inside["firewall-ips"] == {"10.96.0.7 . tcp . 80": "drop"}


def test_what_is_masqueraded():
    # v1.36.4 pkg/proxy/ipvs/proxier.go:1310-1350: outside traffic, unless it stays here; to cluster addresses by its source
    outside = {"external_ips": ("1.2.3.4",), "node_port": 30000, "on_this_node": (("10.1.0.1", 8080),)}
    made = table(port(**outside))
    assert (made["outside-ips"], made["node-ports"]) == ({"1.2.3.4 . tcp . 80": ""}, {"tcp . 30000": ""})
    assert made["hairpin-connections"] == {"10.1.0.1 . 10.1.0.1 . tcp . 8080": ""}
    assert not {"outside-ips", "node-ports"} & table(port(external_local=True, **outside)).keys()
    by_source = [
        ({}, "ip saddr @service-ips "),
        ({"pod_ranges": ("10.1.0.0/16",)}, "ip saddr != { 10.1.0.0/16 } "),
        ({"masquerade_all": True, "pod_ranges": ("10.1.0.0/16",)}, ""),
    ]
    for options, who in by_source:
        _, rules = everything(**options).chains["services"]
        assert rules[1] == f"{who}ip daddr . meta l4proto . th dport @cluster-ips mark set mark or 0x00004000"


def test_sources_and_health_checks():
    made = table(port(load_balancer_ips=("5.6.7.8",), sources=("10.0.0.0/8",), health_check_port=31000))
    assert made["firewall-ips"]["5.6.7.8 . tcp . 80"].startswith("goto firewall-")
    assert made["health-check-ports"] == {"31000": ""}


def test_addresses_are_bound_unless_the_machine_has_them():
    # v1.36.4 pkg/proxy/ipvs/proxier.go:941 (shouldBind)
    made = wanted(port(external_ips=("192.0.2.1", "1.2.3.4")))
    assert made.bound == {"10.96.0.7", "1.2.3.4"}
    has = {"eth0": {"192.0.2.1"}}
    assert servers.binding(has, made.bound, ()).splitlines() == [
        "link add kube-ipvs0 type dummy",
        "address add 1.2.3.4/32 dev kube-ipvs0",
        "address add 10.96.0.7/32 dev kube-ipvs0",
    ]
    there = {"kube-ipvs0": {"1.2.3.4", "9.9.9.9"}}
    assert servers.binding(there, {"fd00::1"}, {"1.2.3.4", "10.96.0.7"}).splitlines() == [
        "address add fd00::1/128 dev kube-ipvs0",
        "address del 1.2.3.4/32 dev kube-ipvs0",
    ]


def test_addresses_of_the_machine():
    said = """1: lo: <LOOPBACK,UP> mtu 65536
2: eth0@if3: <BROADCAST,UP> mtu 1500
4: kube-ipvs0: <BROADCAST,NOARP> mtu 1500
1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever
2: eth0    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0\\       valid_lft forever
2: eth0    inet 169.254.1.1/16 scope link eth0\\       valid_lft forever
2: eth0    inet6 fe80::1/64 scope link \\       valid_lft forever
2: eth0    inet6 fd00::1/64 scope global \\       valid_lft forever
"""
    assert servers.interfaces(said, 4) == {"lo": set(), "eth0": {"192.0.2.1", "169.254.1.1"}, "kube-ipvs0": set()}
    assert servers.interfaces(said, 6)["eth0"] == {"fd00::1"}


def test_an_endpoint_that_leaves_ends_its_connections_first():
    # v1.36.4 pkg/proxy/ipvs/graceful_termination.go
    two = (("10.1.0.1", 8080), ("10.1.0.2", 8080))
    before, after = wanted(port(endpoints=two)), wanted(port(endpoints=two[:1]))
    left = servers.change(before, after)
    assert left.text == "-e -t 10.96.0.7:80 -r 10.1.0.2:8080 -m -w 0\n"
    gone = (Front("tcp", "10.96.0.7", 80), ("10.1.0.2", 8080))
    assert left.draining == {gone}
    busy = servers.over(listed("TCP  10.96.0.7:80", ("10.1.0.1:8080", 1, 0), ("10.1.0.2:8080", 0, 1)), left.draining)
    assert (busy.text, busy.draining) == ("", left.draining)
    over = servers.over(listed("TCP  10.96.0.7:80", ("10.1.0.2:8080", 0, 0)), left.draining)
    assert (over.text, over.draining) == ("-d -t 10.96.0.7:80 -r 10.1.0.2:8080\n", frozenset())
    back = servers.change(after, before, left.draining)
    assert (back.text, back.draining) == ("-e -t 10.96.0.7:80 -r 10.1.0.2:8080 -m -w 1\n", frozenset())
    without = servers.change(after, Servers(), left.draining)
    assert (without.text, without.draining) == ("-D -t 10.96.0.7:80\n", frozenset())
    udp = [wanted(port(endpoints=each, protocol="udp")) for each in (two, two[:1])]
    assert servers.change(*udp) == servers.Change("-d -u 10.96.0.7:80 -r 10.1.0.2:8080\n")


def test_what_is_saved_is_what_was_written():
    made = wanted(
        port(affinity_seconds=60, node_port=30000), port("b", "10.96.0.8", protocol="sctp", endpoints=()), scheduler="mh"
    )
    state = restored({}, servers.change(Servers(), made).text)
    again = servers.saved(saved(state) + "\n-A -f 1 -s rr\n-a -f 1 -r 10.9.9.9:0 -m -w 1\n")
    assert (again.virtual, again.real) == (made.virtual, made.real)
    assert servers.saved("-A -t [fd00::7]:80 -s rr -p 60 -M 128").virtual == {Front("tcp", "fd00::7", 80): "-s rr -p 60"}
    assert servers.saved("-A -t 1.1.1.1:80 -s mh -b mh-port").virtual == {Front("tcp", "1.1.1.1", 80): "-s mh -b flag-2"}


def test_what_is_recorded_in_the_table_is_found_again():
    said = "table ip t {\n set virtual-servers {\n  elements = { 10.96.0.7 . tcp . 80,\n\t\t 10.96.0.8 . udp . 53 }\n }\n}"
    assert list(map(servers.front_of, servers.recorded(said))) == [
        Front("tcp", "10.96.0.7", 80),
        Front("udp", "10.96.0.8", 53),
    ]
    assert servers.recorded("table ip t {\n set virtual-servers {\n }\n}") == []


def test_two_services_that_want_one_address():
    """The first has it, with its endpoints alone."""
    one, other = (
        port(name, f"10.96.1.{n}", ((f"10.1.0.{n}", 1),), external_ips=("1.2.3.4",)) for n, name in enumerate("ab", 1)
    )
    assert [at for front, at in wanted(one, other).real if front.address == "1.2.3.4"] == [("10.1.0.1", 1)]


class Programs:
    """In the place of the kernel: what the programs would do with what they are given."""

    def __init__(self, **tables: str) -> None:
        self.state: dict[str, tuple[str, dict[str, str]]] = {}
        self.bound: set[str] = set()
        self.there = {"eth0": MACHINE}
        self.sets = tables

    async def run(self, command: list[str], given: str = "") -> str:
        match command:
            case ["ipvsadm", "--save", "-n"]:
                return saved(self.state)
            case ["ipvsadm", "--restore"]:
                self.state = restored(self.state, given)
            case ["ip", "-o", "link", "show"]:
                return "2: eth0: <UP>\n9: kube-ipvs0: <NOARP>\n"
            case ["ip", "-o", "address", "show"]:
                many = [("eth0", each) for each in MACHINE] + [("kube-ipvs0", each) for each in sorted(self.bound)]
                return "".join(f"2: {name}    inet {each}/32 scope global {name}\n" for name, each in many)
            case ["ip", "-batch", "-"]:
                for line in given.splitlines():
                    _, what, address, *_ = line.split()
                    (self.bound.add if what == "add" else self.bound.remove)(address.removesuffix("/32"))
            case ["nft", "list", "set", _, _, name]:
                return self.sets.get(name.replace("-", "_"), "")
            case ["nft", "-f", "-"] | ["ip", "link", "del", "kube-ipvs0"]:
                self.sets = self.sets if command[0] == "ip" else {}
            case _:
                raise AssertionError(command)
        return ""


@pytest.fixture
def programs(monkeypatch):
    made = Programs(
        virtual_servers="elements = { 10.96.0.99 . tcp . 80, 10.96.7.7 . tcp . 80 }", service_ips="elements = { 10.96.0.99 }"
    )
    monkeypatch.setattr(kernel, "run", made.run)
    monkeypatch.setattr(kernel.apply, "switch", lambda wanted: [])
    return made


FOREIGN = {"-t 203.0.113.1:443": ("-s wlc", {"203.0.113.2:443": "-m -w 3"})}


def test_what_an_earlier_proxy_left_goes_and_what_is_not_ours_stays(programs):
    left = {"-t 10.96.0.99:80": ("-s rr", {}), "-t 10.96.7.7:80": ("-s rr", {})}
    programs.state, programs.bound = {**FOREIGN, **left}, {"10.96.0.99", "172.31.0.1"}
    backend = kernel.Ipvs(4, "tiphys-proxy")
    backend.base(Frame(4, spared=("10.96.7.0/24",)))
    asyncio.run(backend.replace(everything(port(node_port=30000))))
    fronts = ["-t 203.0.113.1:443", "-t 10.96.7.7:80", "-t 10.96.0.7:80", "-t 192.0.2.1:30000", "-t 198.51.100.7:30000"]
    assert list(programs.state) == fronts
    assert programs.bound == {"10.96.0.7", "172.31.0.1"}
    asyncio.run(backend.remove())
    assert programs.state == {**FOREIGN, "-t 10.96.7.7:80": ("-s rr", {})}
    assert programs.bound == {"172.31.0.1"}


def test_an_endpoint_that_drained_before_a_restart_goes_later(programs):
    programs.state = {"-t 10.96.0.7:80": ("-s rr", {"10.1.0.1:8080": "-m -w 0", "10.1.0.9:8080": "-m -w 0"})}
    backend = kernel.Ipvs(4, "tiphys-proxy")
    asyncio.run(backend.replace(everything(port())))
    assert programs.state["-t 10.96.0.7:80"][1] == {"10.1.0.1:8080": "-m -w 1", "10.1.0.9:8080": "-m -w 0"}
    assert backend.left_over()


def test_without_ipvs_in_the_kernel(monkeypatch, tmp_path):
    # v1.36.4 pkg/proxy/ipvs/supported.go:47
    async def refuse(command: list[str], given: str = "") -> str:
        raise kernel.Refused(" ".join(command))

    monkeypatch.setattr(kernel, "IN_KERNEL", tmp_path / "ip_vs")
    monkeypatch.setattr(kernel, "run", refuse)
    with pytest.raises(kernel.Refused, match=r"^ipvs not supported by the kernel$"):
        asyncio.run(kernel.check("rr"))


addresses = st.sampled_from([("10.1.0.1", 80), ("10.1.0.2", 80), ("10.1.0.3", 80)])
some_ports = st.lists(
    st.builds(
        port,
        name=st.sampled_from(["a", "b", "c"]),
        endpoints=st.lists(addresses, max_size=3, unique=True).map(tuple),
        protocol=st.sampled_from(["tcp", "udp"]),
        node_port=st.sampled_from([0, 30000]),
        affinity_seconds=st.sampled_from([0, 60]),
        external_ips=st.sampled_from([(), ("1.2.3.4",)]),
        load_balancer_ips=st.sampled_from([(), ("192.0.2.1",)]),
    ),
    max_size=3,
    unique_by=lambda each: each.name,
)


@given(st.lists(some_ports, min_size=1, max_size=6))
def test_step_by_step_is_as_good_as_all_at_once(steps):
    """What never must happen: servers that are left over or lacking after a change, or a text that is refused."""
    kept, state, bound, draining = Ledger(), {}, set(), frozenset()
    for ports in steps:
        by_name = {each.name.service: each for each in ports}
        for name in ("a", "b", "c"):
            kept.put(("default", name), parts.part((by_name[name],), Frame(4)) if name in by_name else EMPTY)
        before, after = servers.sides(kept.changes(), MACHINE)
        done = servers.change(before, after, draining)
        state, draining = restored(state, done.text), done.draining
        bound = (bound - before.bound) | after.bound
        now = wanted(*ports)
        idle = {front: (options, {at: w for at, w in real.items() if w != DRAINS}) for front, (options, real) in state.items()}
        assert idle == restored({}, servers.change(Servers(), now).text)
        assert bound == now.bound
        waiting = {f"{front.shown} {host}:{number}" for front, (host, number) in draining}
        assert waiting == {f"{front} {at}" for front, (_, real) in state.items() for at, w in real.items() if w == DRAINS}
