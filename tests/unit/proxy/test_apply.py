"""What the proxy has to say of a machine that keeps Services from working."""

import asyncio

import pytest

from tiphys.proxy import apply
from tiphys.proxy.apply import Refused


@pytest.mark.parametrize(
    ("bridged", "forward", "complaints"),
    [
        ("1", "1", []),
        (None, "1", []),
        ("0", "1", ["net.bridge.bridge-nf-call-iptables is 0"]),
        ("1", "0", ["net.ipv4.ip_forward is 0"]),
    ],
)
def test_switches_that_are_off(tmp_path, monkeypatch, bridged, forward, complaints):
    # https://kubernetes.io/docs/setup/production-environment/container-runtimes/#prerequisite-ipv4-forwarding-optional
    for name, value in (("BRIDGED", bridged), ("FORWARD", forward)):
        file = tmp_path / name
        if value is not None:
            file.write_text(f"{value}\n")
        monkeypatch.setattr(apply, name, file)
    assert [each.split(":")[0] for each in apply.complaints()] == complaints


def test_a_program_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Refused, match="cannot run nft: No such file or directory"):
        asyncio.run(apply.run(["nft"]))
