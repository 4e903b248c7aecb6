"""The scheduler as a part of a process: built here, over whichever client the process has.

Import this late: it brings numpy, and what serves the API should not wait for that.
"""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.http.messages import Response
from tiphys.base.log import Log, Logger
from tiphys.base.metrics import Registry
from tiphys.client.interface import Client
from tiphys.cmd import scheduler_plugins
from tiphys.cmd.data_directory import Unusable
from tiphys.scheduler import profiles, serving
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.config import settings as configuration
from tiphys.scheduler.config.reading import BadConfiguration, read
from tiphys.scheduler.config.settings import SchedulerSettings
from tiphys.scheduler.extending import Extenders
from tiphys.scheduler.framework import Profile
from tiphys.scheduler.loop import Scheduler
from tiphys.scheduler.observing import Observer
from tiphys.scheduler.state import State


def settings_of(file: Path | None) -> SchedulerSettings:
    """Of a KubeSchedulerConfiguration or a Policy; the defaults without one."""
    if file is None:
        return SchedulerSettings()
    try:
        return configuration.of(read(file.read_bytes()))
    except (OSError, BadConfiguration) as problem:
        raise Unusable(f"{file}: {problem}") from None


def build(
    client: Client,
    clock: Clock,
    settings: SchedulerSettings,
    plugins: Sequence[str] = (),
    *,
    verbosity: int = 0,
    host: str = "",
    metrics: Registry | None = None,
) -> Scheduler:
    log = logger(clock, verbosity)
    state = _state(settings, plugins)
    observer = Observer(metrics)
    observer.follow(state)
    extenders = Extenders(settings.extenders, log)
    return Scheduler(client, state, clock, random.random, log, host=host, extenders=extenders, observer=observer)


def check(file: Path | None, plugins: Sequence[str]) -> None:
    """Before anything else has started. Raises Unusable."""
    _state(settings_of(file), plugins)


def _state(settings: SchedulerSettings, plugins: Sequence[str]) -> State:
    makers, running = scheduler_plugins.load(plugins)

    def made(cluster: Cluster) -> Mapping[str, Profile]:
        return {each.scheduler: profiles.build(each, cluster, makers, running) for each in settings.profiles}

    try:
        return State(made, random.randrange, (settings.initial_backoff, settings.longest_backoff))
    except BadConfiguration as problem:
        raise Unusable(str(problem)) from None


def explainer(scheduler: Scheduler) -> Callable[[str, str], Awaitable[Response]]:
    """For the API server in the same process."""

    async def answer(path: str, query: str) -> Response:
        return serving.explained(scheduler, path, query)

    return answer


def logger(clock: Clock, verbosity: int) -> Logger:
    return Logger(Log(verbosity=verbosity, clock=clock), "scheduler", {})
