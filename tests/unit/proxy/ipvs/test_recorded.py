"""What ipvsadm 1.31, nft 1.0.6 and ip said on Linux 6.1, with the Services below in the kernel, is what was meant."""

from pathlib import Path

import pytest

from tiphys.proxy.ipvs import parts, servers
from tiphys.proxy.ipvs.servers import Front, Servers
from tiphys.proxy.ledger import Ledger
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import PortName

RECORDED = Path(__file__).parent / "recorded"
MACHINE = {4: frozenset({"169.254.1.1", "192.0.2.1"}), 6: frozenset({"fd00:ff::1", "fd00:9::1"})}
ONE, OTHER = 1, 2


def read(name: str) -> str:
    return (RECORDED / name).read_text()


def port(family: int, name: str, number: int, *pods: int, protocol: str = "tcp", at: int = 80, **more) -> PortRules:
    service, pod = ("10.96.0.", "10.1.0.") if family == 4 else ("fd00:96::", "fd00:1::")
    target = {53: 5353}.get(at, 8080)
    fate = "endpoints" if pods else "reject"
    return PortRules(
        name=PortName("default", name, protocol, protocol),
        cluster_ip=f"{service}{number}",
        port=at,
        internal=fate,
        external=fate,
        anywhere=bool(pods),
        cluster=tuple((f"{pod}{each}", target) for each in pods),
        **more,
    )


def services(family: int) -> list[list[PortRules]]:
    outside = ("203.0.113.5",) if family == 4 else ("2001:db8::5",)
    web = port(family, "web", 7, ONE, OTHER, node_port=30000, external_ips=outside)
    dns = port(family, "web", 7, ONE, OTHER, protocol="udp", at=53, node_port=30053, external_ips=outside)
    both = [
        [web, dns],
        [port(family, "sticky", 8, ONE, OTHER, affinity_seconds=60)],
        [port(family, "sctp", 11, ONE, protocol="sctp")],
    ]
    if family == 6:
        return both
    local = (("10.1.0.1", 8080),)
    return [
        *both,
        [port(4, "local", 9, ONE, node_port=30001, external_local=True, local=local)],
        [port(4, "empty", 10)],
        [port(4, "drain", 12, OTHER)],
    ]


def wanted(family: int, scheduler: str = "rr") -> Servers:
    made = Ledger()
    frame = Frame(family, scheduler=scheduler)
    for each in services(family):
        made.put((each[0].name.namespace, each[0].name.service), parts.part(tuple(each), frame))
    return servers.sides(made.everything(), MACHINE[family])[1]


def test_saved():
    four, six, found = wanted(4), wanted(6), servers.saved(read("save.txt"))
    assert found.virtual == {**four.virtual, **six.virtual}
    assert found.real == {**four.real, **six.real}
    for each in (four, six):
        assert not servers.change(servers.only(found, each.virtual.keys()), each).text


def test_saved_with_flags_and_an_endpoint_that_drains():
    four, six, found = wanted(4, "mh"), wanted(6), servers.saved(read("save-mh.txt"))
    drains = (Front("tcp", "10.96.0.12", 80), ("10.1.0.1", 8080))
    assert found.virtual == {**four.virtual, **six.virtual}
    assert found.real == {**four.real, **six.real, drains: 0}
    again = servers.change(servers.only(found, four.virtual.keys()), four)
    assert again == servers.Change("", frozenset({drains}))


def test_connections():
    """Of pods that went from all virtual servers of TCP, those that nobody is connected to any more are over."""
    draining = {each for each in servers.saved(read("save.txt")).real if each[0].protocol == "tcp"}
    done = servers.over(read("list.txt"), draining)
    assert done.text.splitlines() == [
        "-d -t 10.96.0.9:80 -r 10.1.0.1:8080",
        "-d -t 169.254.1.1:30000 -r 10.1.0.1:8080",
        "-d -t 169.254.1.1:30000 -r 10.1.0.2:8080",
        "-d -t 169.254.1.1:30001 -r 10.1.0.1:8080",
        "-d -t [fd00:96::8]:80 -r [fd00:1::1]:8080",
        "-d -t [fd00:96::8]:80 -r [fd00:1::2]:8080",
        "-d -t [fd00:ff::1]:30000 -r [fd00:1::1]:8080",
        "-d -t [fd00:ff::1]:30000 -r [fd00:1::2]:8080",
    ]
    assert (Front("tcp", "10.96.0.12", 80), ("10.1.0.2", 8080)) in done.draining
    assert len(done.draining) == len(draining) - 8


@pytest.mark.parametrize("name", ["set.txt", "set-of-names.txt"])
def test_what_the_table_says_of_the_virtual_servers(name):
    """Without /etc/protocols nft lists numbers of protocols."""
    assert set(map(servers.front_of, servers.recorded(read(name)))) == wanted(4).virtual.keys()


def test_addresses():
    said = read("link.txt") + read("address.txt")
    for family in (4, 6):
        found = servers.interfaces(said, family)
        bound = found.pop(servers.INTERFACE)
        assert frozenset().union(*found.values()) == MACHINE[family]
        assert bound == wanted(family).bound
