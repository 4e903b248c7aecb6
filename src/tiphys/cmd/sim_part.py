"""Simulated nodes as a part of a process: built here, over whichever client the process has."""

import random

from tiphys.base.clock import Clock
from tiphys.base.log import Log, Logger
from tiphys.client.interface import Client
from tiphys.sim.fleet import Fleet


def build(client: Client, count: int, clock: Clock, *, verbosity: int = 0, first: int = 0) -> Fleet:
    """Raises ValueError where there are too many."""
    log = Logger(Log(verbosity=verbosity, clock=clock), "sim", {})
    return Fleet(client, count, clock, random.random, log, first=first)
