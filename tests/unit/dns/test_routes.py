"""Stub domains, as the ConfigMap kube-dns says them.

https://kubernetes.io/docs/tasks/administer-cluster/dns-custom-nameservers/ (the part on kube-dns)
"""

import pytest

from tiphys.dns import wire
from tiphys.dns.routes import Routes, of_config_map, resolver

USUAL = (("192.0.2.53", 53),)


def config(**data: str):
    return {"metadata": {"name": "kube-dns", "namespace": "kube-system"}, "data": data}


def asked(routes: Routes, name: str):
    return routes.resolvers(routes.domain(wire.name(name).lower()))


def test_the_longest_domain_decides():
    stubs = '{"acme.local": ["192.0.2.1"], "Eu.acme.local": ["192.0.2.2:5353", "[2001:db8::1]:5353", "2001:db8::2"]}'
    routes = of_config_map(config(stubDomains=stubs), USUAL)
    european = (("192.0.2.2", 5353), ("2001:db8::1", 5353), ("2001:db8::2", 53))
    assert asked(routes, "www.acme.local.") == asked(routes, "acme.local") == (("192.0.2.1", 53),)
    assert asked(routes, "WWW.EU.ACME.LOCAL") == european
    # Of the same letters, but no label of its own.
    assert asked(routes, "notacme.local") == asked(routes, "local") == asked(routes, ".") == USUAL


def test_other_resolvers_instead_of_the_nodes():
    assert of_config_map(config(upstreamNameservers='["192.0.2.9"]'), USUAL) == Routes((("192.0.2.9", 53),))
    assert of_config_map(None, USUAL) == of_config_map(config(), USUAL) == Routes(USUAL)


@pytest.mark.parametrize(
    "data",
    [
        {"stubDomains": "acme.local"},
        {"stubDomains": "[]"},
        {"stubDomains": '{"acme.local": "192.0.2.1"}'},
        {"stubDomains": '{"acme..local": ["192.0.2.1"]}'},
        {"upstreamNameservers": '["dns.example.com"]'},
        {"upstreamNameservers": '["192.0.2.1:0"]'},
        {"upstreamNameservers": '["192.0.2.1:dns"]'},
    ],
)
def test_what_cannot_be_followed_is_refused_as_a_whole(data):
    with pytest.raises(ValueError, match=r"\S"):
        of_config_map(config(**data), USUAL)


def test_a_port_of_an_address():
    assert [resolver(each) for each in ("192.0.2.1", "192.0.2.1:54", "::1", "[::1]", "[::1]:54")] == [
        ("192.0.2.1", 53),
        ("192.0.2.1", 54),
        ("::1", 53),
        ("::1", 53),
        ("::1", 54),
    ]
