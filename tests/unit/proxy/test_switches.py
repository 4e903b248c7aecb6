"""The kernel's switches."""

import pytest

from tiphys.proxy import apply
from tiphys.proxy.switches import Tracking, wanted


@pytest.mark.parametrize(
    ("tracking", "cores", "most"),
    [
        (Tracking(0, 131072), 4, None),
        (Tracking(32768, 131072), 2, 131072),
        (Tracking(32768, 131072), 8, 262144),
        (Tracking(32768, 131072), 100, 1048576),
    ],
)
def test_how_many_connections(tracking, cores, most):
    # v1.36.4 pkg/proxy/conntrack/sysctls_test.go TestGetConntrackMax
    assert wanted(tracking, cores, localhost=False).get("net/netfilter/nf_conntrack_max") == most


def test_times_and_localhost():
    found = wanted(Tracking(tcp_established=86400.0, tcp_close_wait=0, udp=30.5, tcp_liberal=True), 1, localhost=True)
    assert found == {
        "net/netfilter/nf_conntrack_tcp_timeout_established": 86400,
        "net/netfilter/nf_conntrack_udp_timeout": 30,
        "net/netfilter/nf_conntrack_tcp_be_liberal": 1,
        "net/ipv4/conf/all/route_localnet": 1,
    }


def test_only_what_is_otherwise_is_set(tmp_path, monkeypatch):
    monkeypatch.setattr(apply, "SWITCHES", tmp_path)
    for name, value in (("a", "1"), ("b_max", "100"), ("c_max", "5")):
        (tmp_path / name).write_text(value)
    (tmp_path / "a").chmod(0o400)
    left = apply.switch({"a": 1, "b_max": 7, "c_max": 7, "there/is/none": 3})
    assert left == ["cannot set there.is.none to 3: No such file or directory"]
    assert [(tmp_path / name).read_text() for name in ("a", "b_max", "c_max")] == ["1", "100", "7"]
