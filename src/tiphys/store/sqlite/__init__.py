"""The durable store of one machine: served from memory, kept in one SQLite file.

async with SqliteStore.open(path) as store:
    ...
"""

from tiphys.store.sqlite.file import UnusableFile, restore
from tiphys.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "UnusableFile", "restore"]
