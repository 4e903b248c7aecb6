"""An acknowledged write survives kill -9, and nothing appears that was not written.

Authority: https://etcd.io/docs/v3.5/learning/api_guarantees/#durability
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiphys.store.sqlite import SqliteStore

ROUNDS = int(os.environ.get("TIPHYS_KILL_ROUNDS", "12"))


def crash(path, after):
    """What the victim said until it was killed: `after` seconds from its first acknowledgement, the moment another one comes.

    That is when a write that was acknowledged too early has not reached the file yet."""
    victim = Path(__file__).with_name("crash_writer.py")
    said, until = b"", None
    with subprocess.Popen([sys.executable, victim, path], stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            while chunk := process.stdout.read(1 << 16):
                said += chunk
                if until is None and b"done" in said:
                    until = time.monotonic() + after
                elif until is not None and time.monotonic() > until and b"done" in chunk:
                    process.kill()
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    return [line.split() for line in said.splitlines(keepends=True) if line.endswith(b"\n")]


async def check(path, said, floor):
    tried, done, newest = {}, {}, floor
    for word, writer, number, *rest in said:
        if word == b"try":
            tried[int(writer)] = int(number)
        else:
            done[int(writer)] = (int(number), int(rest[0]))
            newest = max(newest, int(rest[0]))
    async with SqliteStore.open(path) as store:
        # Each write is one event, so no revision may be missing and none may be taken twice.
        revisions = []
        store.watch("", "", store.oldest, lambda events, _: revisions.extend(event.revision for event in events))
        assert revisions == list(range(store.oldest + 1, store.revision + 1))
        assert store.revision >= newest
        for writer, last in tried.items():
            record = store.peek("pods", f"crash/{writer}")
            acknowledged, revision = done.get(writer, (last - 1, 0))
            if record is None:
                assert acknowledged % 5 == 0 or last % 5 == 0
            else:
                note = record.tree()["note"]
                assert note in (acknowledged, last)
                assert record.revision >= revision
                assert note != acknowledged or not revision or record.revision == revision
                assert acknowledged % 5 or note == last
        return store.revision


@pytest.mark.slow  # It is the many rounds that find something.
def test_no_acknowledged_write_is_lost(tmp_path):
    path = tmp_path / "store.db"
    moments = random.Random(os.urandom(8))
    revision, writes = 1, 0
    for _ in range(ROUNDS):
        said = crash(path, moments.uniform(0.001, 0.3))
        before, revision = revision, asyncio.run(check(path, said, revision))
        assert revision > before
        writes += sum(1 for word, *_ in said if word == b"done")
    assert writes > ROUNDS
