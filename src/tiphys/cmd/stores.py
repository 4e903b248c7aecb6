"""The store that `--store` or `--etcd-servers` names, opened."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from tiphys.cmd.data_directory import Unusable
from tiphys.store.interface import Codec, Store

EMBEDDED = ("sqlite", "memory")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    said: str
    """sqlite, memory, or the URLs of an etcd's members with commas between them."""
    file: Path
    """Of the SQLite store."""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    """Of etcd and towards it."""
    prefix: str = "/registry"
    """Of all keys in etcd."""
    codec: Codec | None = None
    """Seals what is kept for good: encryption at rest."""


def check_store(said: str) -> None:
    """Raises Unusable for what names no store."""
    if said in EMBEDDED:
        return
    if not all(each.startswith(("http://", "https://")) for each in said.split(",")):
        raise Unusable(f"--store is sqlite, memory or the URL of an etcd (http://host:2379), not {said!r}")


def open_store(settings: StoreSettings) -> AbstractAsyncContextManager[Store]:
    if settings.said == "memory":
        from tiphys.store.memory import MemoryStore

        return MemoryStore.open()
    if settings.said == "sqlite":
        from tiphys.store.sqlite import SqliteStore

        return SqliteStore.open(settings.file, codec=settings.codec)
    from tiphys.store.etcd import EtcdConfig, EtcdStore

    config = EtcdConfig(settings.said.split(","), settings.ca, settings.certificate, settings.key, settings.prefix)
    return EtcdStore.open(config, codec=settings.codec)
