"""Several at once, and what becomes of the others."""

import asyncio

import pytest
from tests.virtual_loop import run

from tiphys.base.tasks import first_done, together


class Broken(Exception):
    pass


def test_all_come_to_their_end_and_a_failure_is_told_as_it_is():
    ended: list[str] = []

    async def fails():
        await asyncio.sleep(1)
        raise Broken

    async def goes_on():
        await asyncio.sleep(2)
        ended.append("the other")

    async def both():
        with pytest.raises(Broken):
            await together(fails(), goes_on())
        assert ended == ["the other"]
        await together()

    run(both())


def test_who_is_cancelled_cancels_all():
    ended: list[str] = []

    async def sleeps():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("slept")

    async def whole():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await together(sleeps(), sleeps())

    run(whole())
    assert ended == ["slept", "slept"]


def test_the_first_that_is_done_ends_the_others():
    async def whole():
        with pytest.raises(Broken):
            await first_done(asyncio.sleep(60), fails())

    async def fails():
        raise Broken

    run(whole())
