"""Authority: the help of `tiphys up --node`."""

import pytest

from tiphys.cmd.node_choice import FALLBACK, Choice, Impossible, Machine, choose

EVERYTHING = Machine("Linux", "x86_64", True, frozenset(), True)


def chosen(wanted="auto", own_runtime=True, with_network=True, may_install=True, **differs):
    machine = Machine(**{name: differs.get(name, getattr(EVERYTHING, name)) for name in Machine.__slots__})
    return choose(wanted, machine, own_runtime=own_runtime, with_network=with_network, may_install=may_install)


def test_a_machine_that_can_gets_a_real_node():
    assert chosen() == Choice("real")
    assert chosen("none") == Choice("none")
    assert chosen("sim:3", root=False) == Choice("sim:3")


@pytest.mark.parametrize(
    ("differs", "why"),
    [
        ({"system": "Darwin"}, "real containers need Linux, and this is Darwin"),
        ({"root": False}, "real containers need root"),
        ({"architecture": "riscv64"}, "there is no pause program for riscv64"),
        (
            {"lacks": frozenset({"runc", "containerd", "nft"}), "may_install": False},
            "containerd, nftables and runc would have to be installed, which --no-install forbids",
        ),
        (
            {"lacks": frozenset({"nft"}), "can_install": False},
            "nftables would have to be installed, and there is no apt-get here",
        ),
    ],
)
def test_others_say_why_not(differs, why):
    assert chosen(**differs) == Choice(FALLBACK, why)
    with pytest.raises(Impossible, match=why):
        chosen("real", **differs)


def test_only_what_is_needed_is_installed():
    lacks = frozenset({"containerd", "ctr", "runc", "CNI plugins", "nft", "conntrack"})
    everything = ("conntrack", "containerd", "containernetworking-plugins", "nftables", "runc")
    assert chosen(lacks=lacks) == Choice("real", install=everything)
    assert chosen(lacks=lacks, own_runtime=False) == Choice("real", install=("conntrack", "nftables"))
    assert chosen(lacks=lacks, own_runtime=False, with_network=False) == Choice("real")
    assert chosen(lacks=lacks, own_runtime=False, with_network=False, architecture="riscv64") == Choice("real")
