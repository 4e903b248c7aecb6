"""The controllers of a process, built over whichever client it has."""

import random

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.metrics import Registry
from tiphys.client.interface import Client
from tiphys.controllers.manager import Manager
from tiphys.controllers.registry import Settings, chosen, controllers

AGENT = "kube-controller-manager"


def manager(client: Client, settings: Settings, wanted: str, clock: Clock, metrics: Registry, log: Logger) -> Manager:
    """Raises ValueError for names of controllers that nobody knows."""
    every = chosen(controllers(settings), wanted)
    return Manager(client, every, clock, random.random, metrics, log, settings.workers)
