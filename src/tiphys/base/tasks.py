"""Structured concurrency: every task is started here and has an owner.

A service is `async def run(ready)`; it calls `ready()` once it serves. Constructors start nothing; ending a group is
cancellation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

Service = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]


async def start(group: asyncio.TaskGroup, service: Service, *, name: str) -> asyncio.Task[None]:
    """Run `service` inside `group`; return once it has called `ready()` or ended."""
    is_ready = asyncio.Event()
    task = group.create_task(service(is_ready.set), name=name)
    # One that ends early must not hang its starter.
    task.add_done_callback(lambda _: is_ready.set())
    await is_ready.wait()
    return task


def spawn(group: asyncio.TaskGroup, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Run `work` inside `group` without waiting for it."""
    return group.create_task(work, name=name)


async def cancel(task: "asyncio.Task[Any]") -> None:
    """Cancel `task` and wait until it has ended; an error of its own is raised here."""
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise


async def first_done(*work: Awaitable[Any]) -> None:
    """Return when the first of `work` is done; the others are cancelled and awaited."""
    await _until(asyncio.FIRST_COMPLETED, work)


async def together(*work: Awaitable[Any]) -> None:
    """All of `work` at once, each to its end whatever becomes of the others; then the first failure is raised as it is."""
    await _until(asyncio.ALL_COMPLETED, work)


async def _until(when: str, work: Iterable[Awaitable[Any]]) -> None:
    tasks = [asyncio.ensure_future(each) for each in work]  # noqa: TID251 - this module owns its tasks
    if not tasks:
        return
    try:
        await asyncio.wait(tasks, return_when=when)
    finally:
        for task in tasks:
            if not task.done():
                task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and task.exception() is not None:
            raise task.exception()  # type: ignore[misc]
