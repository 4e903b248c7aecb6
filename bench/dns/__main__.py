"""Start a DNS server with many Services, and ask it."""

import argparse
import asyncio
import multiprocessing
import os
import random
import select
import socket
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from struct import pack

import uvloop

from tiphys.base.clock import RealClock
from tiphys.dns import wire
from tiphys.dns.forward import Forwarder
from tiphys.dns.routes import Routes
from tiphys.dns.server import DnsServer
from tiphys.dns.zone import Zone
from tiphys.machinery.tree import Obj

UNDER_WAY = 64
_TICKS = os.sysconf("SC_CLK_TCK")


def service(number: int) -> Obj:
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}]
    address = f"10.96.{number // 250}.{number % 250 + 1}"
    return {"metadata": {"namespace": "default", "name": f"s-{number}"}, "spec": {"clusterIP": address, "ports": ports}}


def serve(core: int, services: int, told: Connection) -> None:
    os.sched_setaffinity(0, {core})

    async def main() -> None:
        zone = Zone("cluster.local")
        for number in range(services):
            zone.service(None, service(number))
        zone.refresh()
        async with asyncio.TaskGroup() as group:
            server = DnsServer(zone, Forwarder(Routes(), RealClock()), group)
            told.send(await server.open("127.0.0.1", 0))
            await asyncio.get_running_loop().create_future()

    uvloop.run(main())


def questions(services: int) -> Iterator[tuple[int, bytes]]:
    """Number and message."""
    chance = random.Random(1)
    ready = [
        pack("!HHHHH", 0x0100, 1, 0, 0, 0) + wire.question(wire.name(f"s-{number}.default.svc.cluster.local"), kind)
        for number in range(services)
        for kind in (wire.A, wire.AAAA)
    ]
    number = 0
    while True:
        number = (number + 1) & 0xFFFF
        yield number, number.to_bytes(2, "big") + chance.choice(ready)


def flood(asking: socket.socket, source: Iterator[tuple[int, bytes]], seconds: float) -> float:
    """Answers a second."""
    for _ in range(UNDER_WAY):
        asking.send(next(source)[1])
    count, began = 0, time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        if not select.select([asking], [], [], 1)[0]:
            raise SystemExit("no answer")
        try:
            while True:
                asking.recv(512)
                count += 1
                asking.send(next(source)[1])
        except BlockingIOError:
            continue
    time.sleep(0.1)
    return count / (now - began)


def pace(asking: socket.socket, source: Iterator[tuple[int, bytes]], rate: int, seconds: float) -> tuple[int, list[float]]:
    """How many were sent, and seconds until each answer."""
    due_at: dict[int, float] = {}
    latencies: list[float] = []
    sent, began = 0, time.monotonic()
    while (now := time.monotonic()) - began < seconds + 0.5:
        while sent < (now - began) * rate and sent < seconds * rate:
            number, message = next(source)
            due_at[number] = began + sent / rate
            asking.send(message)
            sent += 1
        try:
            while True:
                number = int.from_bytes(asking.recv(512)[:2], "big")
                if (due := due_at.pop(number, None)) is not None:
                    latencies.append(time.monotonic() - due)
        except BlockingIOError:
            continue
    return sent, sorted(latencies)


def cpu(pid: int) -> float:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / _TICKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.dns", description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=30_000, help="questions a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    own, server_core, *_ = [*sorted(os.sched_getaffinity(0)), 0]
    told, telling = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=serve, args=(server_core, given.services, telling), daemon=True)
    child.start()
    assert child.pid is not None
    os.sched_setaffinity(0, {own})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("127.0.0.1", told.recv()))
        asking.setblocking(False)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        source = questions(given.services)
        before = cpu(child.pid)
        rate = flood(asking, source, given.seconds)
        spent = (cpu(child.pid) - before) / (rate * given.seconds)
        print(f"{rate:10.0f} answers a second, {spent * 1e6:.1f} us of CPU each")
        sent, latencies = pace(asking, source, given.rate, given.seconds)
        told_of = {share: latencies[int(len(latencies) * share)] * 1e3 for share in (0.5, 0.99, 0.999)}
        shown = ", ".join(f"p{share * 100:g} {value:.2f} ms" for share, value in told_of.items())
        print(f"{sent / given.seconds:10.0f} a second: {shown}; unanswered: {sent - len(latencies)}")
    child.terminate()


if __name__ == "__main__":
    main()
