"""The kernel takes what is written, of both families, with everything that a Service can ask for, and every change of it."""

import os
import shutil
import subprocess

import pytest

from tiphys.proxy.iptables import restore
from tiphys.proxy.iptables.parts import Parts, prefix
from tiphys.proxy.iptables.restore import Found
from tiphys.proxy.ipvs import parts as ipvs
from tiphys.proxy.ipvs import servers
from tiphys.proxy.ledger import BASE, EMPTY, Delta, Ledger
from tiphys.proxy.nftables import parts, table
from tiphys.proxy.nftables.table import Table
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import PortName

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="rules of the kernel need root")]

RANGES = {4: ("10.96.0.0/16", "10.1.0.0/16", "10.96.0.", "10.1.0."), 6: ("fd00:1::/108", "fd00:2::/64", "fd00:1::", "fd00:2::")}


def some_ports(family: int) -> list[PortRules]:
    _, pods, service, pod = RANGES[family]
    return [
        PortRules(
            PortName("default", f"s{number}", "web", protocol),
            f"{service}{number + 1}",
            80,
            "endpoints",
            "endpoints" if number % 2 else "drop",
            True,
            cluster=tuple((f"{pod}{each + 1}", 8080) for each in range(number + 1)),
            local=((f"{pod}1", 8080),) if number % 2 else (),
            on_this_node=((f"{pod}1", 8080),),
            external_local=True,
            node_port=30000 + number,
            external_ips=(f"{service}{number + 10}",),
            load_balancer_ips=(f"{service}{number + 20}",),
            sources=(pods, f"{service}{number + 20}"),
            affinity_seconds=60 if number > 1 else 0,
        )
        for number, protocol in enumerate(("tcp", "udp", "sctp", "tcp"))
    ]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("parts", [parts, ipvs], ids=["nftables", "ipvs"])
def test_tables(parts, family):
    """Of ipvs, what stands in a table."""
    at = Table("ip" if family == 4 else "ip6", "tiphys-proxy", parts.HOOKS)
    services, pods, *_ = RANGES[family]
    frame = Frame(family, (services,), (pods,), node_port_ranges=(pods, services), neighbours=(pods,))
    kept = Ledger()
    kept.put(BASE, parts.base(frame))
    made = {("default", each.name.service): parts.part((each,), frame) for each in some_ports(family)}

    def put(**less) -> Ledger:
        for key, part in made.items():
            kept.put(key, less.get(key[1], part))
        return kept

    def changes(delta: Delta) -> Delta:
        return servers.noted(delta, *servers.sides(delta, ())) if parts is ipvs else delta

    steps = [table.create(at, changes(put().everything())).text, table.create(at, changes(put().everything())).text]
    shrunk = table.change(at, changes(put(s1=EMPTY, s2=EMPTY, s3=EMPTY).changes()))
    steps += [shrunk.text, table.remove_chains(at, shrunk.stale), table.change(at, changes(put().changes())).text]
    steps += [table.delete(at)]
    script = "".join(f"nft -f - <<'EOF' || exit {number}\n{text}EOF\n" for number, text in enumerate(steps, 1))
    done = subprocess.run(["unshare", "--net", "sh", "-c", script + "nft list tables"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("program", ["iptables", "ip6tables", "iptables-legacy", "ip6tables-legacy"])
def test_chains(program):
    """Both kinds of iptables; what is not ours is there before and after."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    family = 6 if program.startswith("ip6") else 4
    services, pods, *_ = RANGES[family]
    own = prefix("tiphys-proxy")
    write = Parts(own)
    frame = Frame(
        family, (services,), (pods,), node_port_ranges=(pods, services), localhost_node_ports=True, neighbours=(pods,)
    )
    kept = Ledger()
    kept.put(BASE, write.base(frame))
    made = {("default", each.name.service): write.part((each,), frame) for each in some_ports(family)}

    def put(**less) -> Ledger:
        for key, part in made.items():
            kept.put(key, less.get(key[1], part))
        return kept

    first = restore.create(own, put().everything(), Found())
    there = restore.found(first.replace("-I ", "-A "), own)
    steps = [first, restore.create(own, put().everything(), there), restore.change(put(s1=EMPTY, s2=EMPTY, s3=EMPTY).changes())]
    steps += [restore.change(put().changes()), restore.remove(own, there)]
    foreign = "*nat\n:OTHER - [0:0]\n-A OTHER -j RETURN\n-A PREROUTING -j OTHER\nCOMMIT\n"
    script = f"{program}-restore <<'EOF' || exit 99\n{foreign}EOF\n{program}-save | grep -v '^[#:]' >&2\n"
    for number, text in enumerate(steps, 1):
        script += f"{program}-restore --noflush <<'EOF' || exit {number}\n{text}EOF\n"
        if number == 4:
            script += f"{program}-save | grep -c {own} \n"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f"{script}{program}-save | grep -v '^[#:]' >&2; {program}-save | grep {own}"],
        capture_output=True,
        text=True,
    )
    before, _, after = done.stderr.partition("COMMIT\n")
    assert done.returncode == 1, done.stderr
    assert int(done.stdout) > 100
    assert before.splitlines() == ["*nat", "-A PREROUTING -j OTHER", "-A OTHER -j RETURN"]
    assert "-A PREROUTING -j OTHER\n-A OTHER -j RETURN\nCOMMIT\n" in after
