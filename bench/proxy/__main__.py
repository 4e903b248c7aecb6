"""Measure one proxy, or two and how they compare."""

import argparse
import asyncio
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import orjson

from bench.proxy import cluster
from bench.proxy.measure import Figures, run

INSIDE = "BENCH_PROXY_INSIDE"
SHOWN = {
    "started": "start until all rules are there, s",
    "full": "writing all rules, s",
    "full_cpu": "CPU until then, s",
    "change": "writing one change, s",
    "change_cpu": "CPU of one change, s",
    "peak": "memory at most, MB",
    "resident": "memory after the run, MB",
}


def command(program: list[str], config: Path, mode: str) -> list[str]:
    words = ["--kubeconfig", str(config), "--proxy-mode", mode, "--hostname-override", cluster.NODE]
    return [*program, *words, "--cluster-cidr", cluster.PODS, "--conntrack-max-per-core=0"]


def table(mode: str, one: Figures, other: Figures | None) -> str:
    lines = [f"{mode:38}{'this':>10}" + (f"{'other':>10}{'this/other':>12}" if other else "")]
    for name, title in SHOWN.items():
        value = getattr(one, name)
        line = f"{title:38}{value:10.3f}"
        if other is not None:
            beside = getattr(other, name)
            line += f"{beside:10.3f}{value / beside if beside else 0:12.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.proxy", description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--endpoints", type=int, default=5)
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--mode", action="append", choices=("nftables", "iptables"), help="one or more (default: both)")
    parser.add_argument("--compare", help="another proxy, which knows kube-proxy's flags and metrics")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    given = parser.parse_args()
    if os.environ.get(INSIDE) is None:
        inside = ["unshare", "--net", sys.executable, "-m", "bench.proxy", *sys.argv[1:]]
        raise SystemExit(subprocess.run(inside, env={**os.environ, INSIDE: "1"}).returncode)
    for line in ("ip link set lo up", "ip addr add 192.0.2.1/32 dev lo", "ip route add default dev lo"):
        subprocess.run(line.split(), check=True)
    found: dict[str, list[Figures]] = {}
    with cluster.api_server() as config:
        asyncio.run(cluster.fill(config, given.services, given.endpoints))
        programs = [[sys.executable, "-m", "tiphys.cmd.main", "proxy"], *([[given.compare]] if given.compare else [])]
        for mode in given.mode or ("nftables", "iptables"):
            for at, program in enumerate(programs):
                figures = run(
                    command(program, config, mode),
                    config,
                    endpoints=given.endpoints,
                    changes=given.changes,
                    services=given.services,
                    turn=1 + at * given.changes,
                )
                found.setdefault(mode, []).append(figures)
                subprocess.run(["nft", "flush", "ruleset"], check=True)
            one, *others = found[mode]
            print(table(mode, one, others[0] if others else None), flush=True)
    if given.json:
        given.json.write_bytes(orjson.dumps({mode: [asdict(each) for each in figures] for mode, figures in found.items()}))


if __name__ == "__main__":
    main()
