"""Ports for servers that a test stops and starts again."""

import os
import random
import socket

_FIRST, _COUNT = 20_000, 10_000
"""Below those that the kernel gives away by chance (32768 and above), and those of Services (30000 and above)."""
_WORKERS = 10
_given: set[int] = set()


def steady_port() -> int:
    """A free one that nobody else takes while its server is away: neither the kernel, nor a test beside this one."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    share = _COUNT // _WORKERS
    chance = random.Random(os.urandom(8))
    while True:
        port = _FIRST + worker * share + chance.randrange(share)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
