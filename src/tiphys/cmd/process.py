"""A command that serves until it is told to stop: signals, the event loop, and what goes wrong outside as one sentence."""

import asyncio
import errno
import gc
import signal
from collections.abc import Awaitable, Callable, Iterator

import uvloop

from tiphys.base.tasks import first_done
from tiphys.cmd.data_directory import Unusable
from tiphys.store.interface import Unavailable


def run_until_stopped(serve: Callable[[], Awaitable[None]]) -> None:
    """Until Ctrl-C or SIGTERM. Raises Unusable where the environment does not let it serve."""
    told = None
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(serve))
    except* (Unusable, Unavailable) as problems:
        # Raised below: before Python 3.11.4 what is raised here becomes a group.
        told = str(first_of(problems))
    if told is not None:
        raise Unusable(told)


async def _run(serve: Callable[[], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    await first_done(stop.wait(), serve())


def first_of(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    """The others follow from it."""
    return next(_leaves(problems))


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for each in problem.exceptions:
            yield from _leaves(each)
    else:
        yield problem


def cannot_listen(problem: OSError, host: str, port: int) -> Unusable:
    if problem.errno == errno.EADDRINUSE:
        return Unusable(f"port {port} of {host} is taken by another program; choose another one (0 takes a free one)")
    if problem.errno in (errno.EACCES, errno.EPERM):
        return Unusable(f"no permission to listen on port {port} of {host}; choose another one")
    return Unusable(f"cannot listen on {host} port {port}: {problem.strerror or problem}")


def settle_memory() -> None:
    """What exists now stays: keep it out of every later collection, and collect less often (trees are large and acyclic)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
