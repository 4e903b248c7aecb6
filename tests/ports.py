"""Ports for servers that a test stops and starts again."""

import os
import random
import socket


def steady_port() -> int:
    """A free one that the kernel gives to nobody by chance (those are 32768 and above) while its server is away."""
    chance = random.Random(os.urandom(8))
    while True:
        port = chance.randrange(20_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
