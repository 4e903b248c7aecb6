"""The log file with its rotation, and the webhook with its batches.

Authority: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#audit-backends; names of old logs are those that
lumberjack gives them.
"""

import asyncio
import json

import orjson

from tiphys.apiserver.audit.log_file import LogFile, LogSettings
from tiphys.apiserver.audit.webhook import BatchSettings, Webhook
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import cancel, start
from tiphys.client.kubeconfig import Access

DAY = 86400
BIG = {"kind": "Event", "text": "x" * 600_000}


class Clock:
    def __init__(self):
        self.time = 1_700_000_000.0
        self.slept = []

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await asyncio.sleep(0)


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_events_are_lines_of_a_file_that_only_its_owner_reads(tmp_path):
    log = LogFile(LogSettings(str(tmp_path / "deep" / "audit.log")), Clock())
    log.put({"kind": "Event", "object": orjson.Fragment(b'{"a":1}')})
    log.put({"kind": "Event"})
    log.close()
    written = tmp_path / "deep" / "audit.log"
    assert [json.loads(line) for line in written.read_text().splitlines()] == [
        {"kind": "Event", "object": {"a": 1}},
        {"kind": "Event"},
    ]
    assert written.stat().st_mode & 0o777 == 0o600


def test_a_full_file_is_put_aside_and_only_so_many_stay(tmp_path):
    clock = Clock()
    log = LogFile(LogSettings(str(tmp_path / "audit.log"), max_megabytes=1, max_backups=2), clock)
    for _ in range(5):
        log.put(BIG)
        clock.time += 1
    log.close()
    assert names(tmp_path) == ["audit-2023-11-14T22-13-23.000.log", "audit-2023-11-14T22-13-24.000.log", "audit.log"]


def test_old_files_go(tmp_path):
    clock = Clock()
    (tmp_path / "audit-notes.log").touch()
    log = LogFile(LogSettings(str(tmp_path / "audit.log"), max_megabytes=1, max_days=1), clock)
    for _ in range(4):
        log.put(BIG)
        clock.time += 0.9 * DAY
    log.close()
    assert names(tmp_path) == [
        "audit-2023-11-16T17-25-20.000.log",
        "audit-2023-11-17T15-01-20.000.log",
        "audit-notes.log",
        "audit.log",
    ]


def test_a_file_that_is_there_is_continued(tmp_path):
    for number in range(2):
        log = LogFile(LogSettings(str(tmp_path / "audit.log")), Clock())
        log.put({"number": number})
        log.close()
    assert (tmp_path / "audit.log").read_text() == '{"number":0}\n{"number":1}\n'


class Receiver:
    def __init__(self, wanted, *statuses):
        self.wanted = wanted
        self.statuses = list(statuses)
        self.batches = []
        self.enough = asyncio.Event()

    async def handle(self, request):
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            sent = json.loads(request.body)
            assert (sent["kind"], sent["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
            assert request.headers["authorization"] == "Bearer secret"
            self.batches.append([each["number"] for each in sent["items"]])
            if len(self.batches) == self.wanted:
                self.enough.set()
        return Response(status, b"{}")


async def received(receiver, settings, numbers):
    """Until as many batches have come as the receiver wants; the clock and the webhook."""
    clock = Clock()
    server = Server(receiver.handle, clock=clock)
    host, port = await server.listen("127.0.0.1", 0)
    log = Logger(Log(write=lambda line: None, clock=clock), "tests", {})
    webhook = Webhook(Access(f"http://{host}:{port}/events?x=1", token="secret"), clock, log, settings)
    for number in numbers:
        webhook.put({"number": number})
    async with asyncio.TaskGroup() as group:
        task = await start(group, webhook.run, name="webhook")
        async with asyncio.timeout(60):
            await receiver.enough.wait()
        await cancel(task)
    await server.shutdown(0)
    return clock, webhook


def test_events_travel_together():
    async def run():
        receiver = Receiver(3)
        clock, _ = await received(receiver, BatchSettings(size=3, seconds=0.05), range(7))
        assert receiver.batches == [[0, 1, 2], [3, 4, 5], [6]]
        assert clock.slept[:2] == [0.1, 0.1]

    asyncio.run(run())


def test_a_batch_that_fails_is_sent_again_after_a_growing_pause():
    async def run():
        receiver = Receiver(1, 500, 503)
        clock, webhook = await received(receiver, BatchSettings(size=1, seconds=0.05), [1])
        assert receiver.batches == [[1]]
        assert clock.slept[:2] == [10.0, 15.0]
        assert webhook.dropped == 0

    asyncio.run(run())


def test_too_many_events_are_dropped_and_counted():
    async def run():
        receiver = Receiver(1)
        _, webhook = await received(receiver, BatchSettings(buffer=2, size=2, seconds=0.05), range(5))
        assert receiver.batches == [[0, 1]]
        assert webhook.dropped == 3

    asyncio.run(run())
