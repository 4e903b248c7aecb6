"""The probes of a container in virtual time (v1.36.4 pkg/kubelet/prober/worker.go)."""

import asyncio

import pytest

from tiphys.kubelet.probes.execute import Answer, Asked
from tiphys.kubelet.probes.watcher import Watcher


class Over(Exception):
    """The time of the test."""


class VirtualClock:
    """Time passes when everybody sleeps, to whoever wakes first."""

    def __init__(self, end):
        self.time, self._end, self._sleepers = 0.0, end, []

    def now(self):
        return self.time

    monotonic = now

    async def sleep(self, seconds):
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time + seconds, len(self._sleepers), woken))
        await woken

    async def run(self):
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            if not self._sleepers:
                raise Over
            first = min(self._sleepers, key=lambda each: each[:2])
            if first[0] > self._end:
                raise Over
            self._sleepers.remove(first)
            self.time = first[0]
            first[2].set_result(None)


class Scripted:
    """Answers by the time of asking."""

    def __init__(self, clock, good):
        self._clock, self._good, self.asked = clock, good, []

    async def probe(self, asked, probe):
        self.asked.append((probe["kind"], self._clock.time))
        return Answer(self._good(probe["kind"], self._clock.time), "")


def watch(container, good, *, end=60.0):
    """What was told, with when; and who was asked when."""
    clock = VirtualClock(end)
    executor = Scripted(clock, good)
    told = []

    async def main():
        watcher = Watcher(
            Asked(container, "c0", "10.0.0.5", {}),
            0.0,
            executor,
            clock,
            lambda kind, verdict, _: told.append((kind, verdict, clock.time)),
            lambda kind, verdict, _: None,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(watcher.run())
            group.create_task(clock.run())

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(main())
    assert caught.group_contains(Over)
    return told, executor.asked


def probe(kind, **more):
    return {"kind": kind, "periodSeconds": 10, **more}


def test_a_container_that_becomes_ready_and_stops_being_so():
    container = {"name": "c", "readinessProbe": probe("readiness", initialDelaySeconds=5)}
    told, asked = watch(container, lambda _, now: now < 20, end=60.0)
    assert told == [("readiness", True, 5.0), ("readiness", False, 45.0)]
    assert [at for _, at in asked] == [5.0, 15.0, 25.0, 35.0, 45.0, 55.0]


def test_liveness_gives_a_container_up_once():
    container = {"name": "c", "livenessProbe": probe("liveness", failureThreshold=2)}
    told, asked = watch(container, lambda *_: False)
    assert told == [("liveness", False, 10.0)]
    assert len(asked) == 2


def test_the_others_wait_for_the_startup_probe():
    # https://kubernetes.io/docs/concepts/workloads/pods/probes/#startup-probe
    container = {
        "name": "c",
        "startupProbe": probe("startup", failureThreshold=30, periodSeconds=1),
        "livenessProbe": probe("liveness"),
        "readinessProbe": probe("readiness"),
    }
    told, asked = watch(container, lambda kind, now: kind != "startup" or now >= 7, end=12.0)
    assert told[0] == ("startup", True, 7.0)
    assert set(told[1:]) == {("liveness", True, 7.0), ("readiness", True, 7.0)}
    assert all(at >= 7.0 for kind, at in asked if kind != "startup")
    assert max(at for kind, at in asked if kind == "startup") == 7.0
