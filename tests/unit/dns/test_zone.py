"""Answers of the zone, read back by dnslib: what it makes of our bytes is what a client would."""

import pytest
from dnslib import QTYPE, RCODE, DNSRecord
from hypothesis import given
from hypothesis import strategies as st

from tiphys.dns import wire
from tiphys.dns.wire import Answer
from tiphys.dns.zone import ELSEWHERE, Alias, Zone


def service(name, addresses=("10.96.0.7",), ports=(("web", "TCP", 80),), **spec):
    made = [{"name": port, "protocol": protocol, "port": number} for port, protocol, number in ports]
    ips = {"clusterIP": addresses[0], "clusterIPs": list(addresses)} if addresses else {"clusterIP": "None"}
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"ports": made, **ips, **spec}}


def slice_of(name, *endpoints, part="a", port=8080):
    made = [{"addresses": [address], "hostname": host, "conditions": {"ready": ready}} for address, host, ready in endpoints]
    labels = {"kubernetes.io/service-name": name}
    ports = [{"name": "web", "protocol": "TCP", "port": port}]
    return {"metadata": {"namespace": "default", "name": f"{name}-{part}", "labels": labels}, "endpoints": made, "ports": ports}


def zone(*services, slices=(), namespaces=("default",)) -> Zone:
    made = Zone("cluster.local", "10.96.0.10")
    for each in namespaces:
        made.namespace(None, {"metadata": {"name": each}})
    for each in services:
        made.service(None, each)
    for each in slices:
        made.slice(None, each)
    made.refresh()
    return made


def asking(name: str, kind: str = "A") -> wire.Query:
    return wire.query(bytes(DNSRecord.question(name, kind).pack()))


def ask(of: Zone, name: str, kind: str = "A") -> DNSRecord:
    asked = asking(name, kind)
    found = of.answer(asked)
    assert isinstance(found, Answer), found
    return DNSRecord.parse(wire.reply(asked, found, 65535))


def told(of: Zone, name: str, kind: str = "A") -> list[str] | str:
    reply = ask(of, name, kind)
    assert reply.header.aa == 1
    if reply.header.rcode or not reply.rr:
        assert [each.rtype for each in reply.auth] == [QTYPE.SOA]
        return RCODE[reply.header.rcode]
    return sorted(f"{QTYPE[each.rtype]} {each.rdata}" for each in reply.rr)


SVC = "web.default.svc.cluster.local"


def test_a_service_with_an_address():
    # https://github.com/kubernetes/dns/blob/master/docs/specification.md 2.3
    of = zone(service("web", ("10.96.0.7", "fd00::7")))
    assert told(of, SVC) == ["A 10.96.0.7"]
    assert told(of, SVC, "AAAA") == ["AAAA fd00::7"]
    assert told(of, SVC.upper()) == ["A 10.96.0.7"]
    srv = ask(of, f"_web._tcp.{SVC}", "SRV")
    assert [str(each.rdata) for each in srv.rr] == [f"0 100 80 {SVC}."]
    assert sorted(str(each.rdata) for each in srv.ar) == ["10.96.0.7", "fd00::7"]
    assert told(of, "7.0.96.10.in-addr.arpa", "PTR") == [f"PTR {SVC}."]
    reverse = "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa"
    assert told(of, reverse, "PTR") == [f"PTR {SVC}."]


def test_headless_services_have_the_addresses_of_their_endpoints():
    # specification.md 2.4
    endpoints = slice_of("web", ("10.1.0.1", "first", True), ("10.1.0.2", "", True), ("10.1.0.3", "gone", False))
    of = zone(service("web", ()), slices=[endpoints])
    assert told(of, SVC) == ["A 10.1.0.1", "A 10.1.0.2"]
    assert told(of, f"first.{SVC}") == ["A 10.1.0.1"]
    assert told(of, f"10-1-0-2.{SVC}") == ["A 10.1.0.2"]
    assert told(of, f"gone.{SVC}") == "NXDOMAIN"
    srv = ask(of, f"_web._tcp.{SVC}", "SRV")
    assert sorted(str(each.rdata) for each in srv.rr) == [f"0 50 8080 10-1-0-2.{SVC}.", f"0 50 8080 first.{SVC}."]
    assert {str(each.rdata) for each in srv.ar} == {"10.1.0.1", "10.1.0.2"}
    assert told(of, "1.0.1.10.in-addr.arpa", "PTR") == [f"PTR first.{SVC}."]
    every = zone(service("web", (), publishNotReadyAddresses=True), slices=[endpoints])
    assert told(every, f"gone.{SVC}") == ["A 10.1.0.3"]


def test_several_addresses_take_turns():
    # CoreDNS plugin/loadbalance: round robin
    of = zone(service("web", ()), slices=[slice_of("web", *((f"10.1.0.{n}", "", True) for n in (1, 2, 3)))])
    first = [str(ask(of, SVC).rr[0].rdata) for _ in range(6)]
    assert sorted(set(first)) == ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
    assert first[:3] == first[3:]


@pytest.mark.parametrize(
    ("name", "kind", "answer"),
    [
        ("none.default.svc.cluster.local", "A", "NXDOMAIN"),
        ("web.other.svc.cluster.local", "A", "NXDOMAIN"),
        (SVC, "AAAA", "NOERROR"),
        (f"_tcp.{SVC}", "A", "NOERROR"),
        (f"_web._udp.{SVC}", "SRV", "NXDOMAIN"),
        ("default.svc.cluster.local", "A", "NOERROR"),
        ("other.svc.cluster.local", "A", "NXDOMAIN"),
        ("svc.cluster.local", "A", "NOERROR"),
        ("cluster.local", "A", "NOERROR"),
        ("cluster.local", "NS", ["NS ns.dns.cluster.local."]),
        ("ns.dns.cluster.local", "A", ["A 10.96.0.10"]),
        ("dns-version.cluster.local", "TXT", ['TXT "1.1.0"']),
        ("10-1-2-3.default.pod.cluster.local", "A", ["A 10.1.2.3"]),
        ("fd00--1.default.pod.cluster.local", "AAAA", ["AAAA fd00::1"]),
        ("fd00--1.default.pod.cluster.local", "A", "NOERROR"),
        ("nothing.default.pod.cluster.local", "A", "NXDOMAIN"),
        ("10-1-2-3.other.pod.cluster.local", "A", "NXDOMAIN"),
        ("example.com.default.svc.cluster.local", "A", "NXDOMAIN"),
    ],
)
def test_what_is_there_and_what_is_not(name, kind, answer):
    # specification.md 2.2, 2.3; CoreDNS plugin/kubernetes (pods insecure: any address, if the namespace is there)
    assert told(zone(service("web")), name, kind) == answer


@pytest.mark.parametrize("name", ["example.com", "notcluster.local", "local", "9.9.9.9.in-addr.arpa", "xcluster.local"])
def test_other_names_are_for_others(name):
    asked = asking(name)
    assert zone().answer(asked) is ELSEWHERE


def test_external_names_are_aliases():
    # specification.md 2.5
    of = zone(service("ext", ("",), type="ExternalName", externalName="example.com"))
    asked = asking("ext.default.svc.cluster.local")
    assert of.answer(asked) == Alias(wire.name("example.com"))
    assert told(of, "ext.default.svc.cluster.local", "CNAME") == ["CNAME example.com."]


def test_records_go_with_their_objects():
    web, endpoints = service("web", ()), slice_of("web", ("10.1.0.1", "one", True))
    of = zone(web, slices=[endpoints])
    moved = slice_of("web", ("10.1.0.2", "two", True))
    of.slice(endpoints, moved)
    of.refresh()
    assert (told(of, SVC), told(of, f"one.{SVC}"), told(of, f"two.{SVC}")) == (["A 10.1.0.2"], "NXDOMAIN", ["A 10.1.0.2"])
    of.slice(moved, None)
    of.service(web, None)
    of.refresh()
    assert told(of, SVC) == "NXDOMAIN"
    assert of.answer(asking("2.0.1.10.in-addr.arpa", "PTR")) is ELSEWHERE


names = st.sampled_from(["a", "b"])
changes = st.lists(st.tuples(st.sampled_from(["service", "headless", "none", "slice", "empty"]), names), max_size=12)


@given(changes)
def test_however_it_came_to_be_the_zone_tells_the_same(steps):
    """What never must happen: an answer that is left over, or lacking, depending on the order of changes."""
    of, services, slices = zone(), {}, {}
    for step, name in steps:
        if step in ("service", "headless", "none"):
            old = services.get(name)
            new = {"service": service(name), "headless": service(name, ()), "none": None}[step]
            if old is not None or new is not None:
                of.service(old, new)
            services[name] = new
        else:
            old, new = slices.get(name), slice_of(name, ("10.1.0.1", "h", True)) if step == "slice" else slice_of(name)
            of.slice(old, new)
            slices[name] = new
        of.refresh()
    fresh = zone(*(each for each in services.values() if each), slices=slices.values())
    for host in ("a", "b"):
        for owner in (f"{host}.default.svc.cluster.local", f"h.{host}.default.svc.cluster.local", "1.0.1.10.in-addr.arpa"):
            for kind in ("A", "SRV", "PTR"):
                asked = asking(owner, kind)
                mine, other = of.answer(asked), fresh.answer(asked)
                assert type(mine) is type(other)
                if isinstance(mine, Answer):
                    assert told(of, owner, kind) == told(fresh, owner, kind)
