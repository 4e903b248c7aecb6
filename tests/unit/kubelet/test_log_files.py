"""The files of a log that grows (v1.36.4 pkg/kubelet/logs/container_log_manager_test.go)."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tiphys.kubelet.log_files import turn
from tiphys.kubelet.logs import LogOptions
from tiphys.kubelet.server.log_stream import send


def test_the_first_time():
    found = turn("0.log", ["0.log"], 5, 0.0)
    assert (found.remove, found.compress, found.rename_to) == ((), (), "0.log.19700101-000000")


def test_old_ones_are_compressed_the_oldest_go():
    beside = ["1.log", "0.log", "0.log.20260101-000000.gz", "0.log.20260102-000000.gz", "0.log.20260103-000000"]
    found = turn("0.log", beside, 4, 0.0)
    assert found.remove == ("0.log.20260101-000000.gz",)
    assert found.compress == ("0.log.20260103-000000",)


def test_what_a_crash_left():
    beside = ["0.log", "0.log.20260101-000000", "0.log.20260101-000000.gz", "0.log.20260102-000000.gz.tmp"]
    found = turn("0.log", beside, 5, 0.0)
    assert set(found.remove) == {"0.log.20260101-000000.gz", "0.log.20260102-000000.gz.tmp"}
    assert found.compress == ("0.log.20260101-000000",)


@given(st.integers(0, 12), st.integers(2, 6))
def test_there_are_never_more_than_allowed(old, most):
    beside = ["0.log", *(f"0.log.202601{day:02}-000000{'.gz' if day < old else ''}" for day in range(1, old + 1))]
    found = turn("0.log", beside, most, 0.0)
    left = set(beside) - set(found.remove) - {"0.log"}
    # The rest, the one that is full now, and the new one.
    assert len(left) + 2 <= most


class Sink:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data

    async def drain(self):
        pass


def line(text):
    return f"2026-01-02T03:04:05.000000000Z stdout F {text}\n".encode()


def test_who_follows_a_log_sees_all_of_it_when_a_new_file_is_begun(tmp_path):
    path, sink = tmp_path / "0.log", Sink()
    path.write_bytes(line("one"))
    looks = []

    async def alive():
        # The container writes while nobody looks: into the old file, then into a new one; then it ends.
        looks.append(sink.data)
        if len(looks) == 1:
            with path.open("ab") as file:
                file.write(line("two"))
            path.rename(tmp_path / "0.log.20260102-030405")
            path.write_bytes(line("three"))
        return len(looks) < 3

    asyncio.run(send(path, LogOptions(follow=True), sink, alive))
    assert sink.data == b"one\ntwo\nthree\n"
