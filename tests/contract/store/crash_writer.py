"""The victim of test_crash.py: writes until it is killed, and tells what it is about to write and what was acknowledged.

Each writer works on one object of its own. Its operation number n is a deletion when n is a multiple of five, and otherwise
a put whose note is n; so what the store may hold afterwards follows from the numbers alone.
"""

import asyncio
import os
import sys
from pathlib import Path

from tiphys.machinery.record import encode
from tiphys.store.interface import Delete, Put
from tiphys.store.sqlite import SqliteStore

WRITERS = 24


async def work(store, writer, padding):
    name = f"crash/{writer}"
    current = store.peek("pods", name)
    number = 0
    if current is not None:
        number = current.tree()["note"]
    else:
        # The last operation was a deletion, or there was none: any multiple of five will do that has not been used.
        number = 5 * (store.revision + 1)
    while True:
        number += 1
        if number % 5 == 0:
            op = Delete("pods", name)
        else:
            tree = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": number, "padding": padding}
            op = Put("pods", name, encode(tree))
        os.write(1, b"try %d %d\n" % (writer, number))
        (record,) = await store.write([op])
        os.write(1, b"done %d %d %d\n" % (writer, number, record.revision))


async def main(path):
    # A short history, so that rows are deleted all the time as well.
    async with SqliteStore.open(path, max_events=2000) as store, asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(work(store, writer, "x" * (100 + 300 * writer)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
