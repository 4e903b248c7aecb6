"""Certificates in a folder: each with its key in a file named after its day, and a link to the newest."""

from datetime import UTC, datetime
from pathlib import Path

from tiphys.base import tls
from tiphys.base.tls import Pair

_KEY = b"-----BEGIN PRIVATE KEY-----"


class Store:
    """`current` is the path of one kind of certificate, `kubelet-client` say, whatever comes later."""

    def __init__(self, folder: Path, name: str) -> None:
        self.current = folder / f"{name}-current.pem"
        self._folder = folder
        self._name = name
        self._unfinished = folder / f"{name}.key.tmp"

    def load(self) -> Pair | None:
        try:
            data = self.current.read_bytes()
            at = data.index(_KEY)
            pair = Pair(data[:at], data[at:])
            return pair if tls.belongs(pair) else None
        except (OSError, ValueError):
            return None

    def save(self, pair: Pair, now: float) -> None:
        file = self._folder / f"{self._name}-{datetime.fromtimestamp(now, UTC):%Y-%m-%d-%H-%M-%S}.pem"
        tls.write_private(file, pair.certificate.rstrip() + b"\n" + pair.key)
        beside = self.current.with_name(f".{self.current.name}")
        beside.unlink(missing_ok=True)
        beside.symlink_to(file.name)
        beside.replace(self.current)
        self._unfinished.unlink(missing_ok=True)

    def begun(self, make: bytes) -> bytes:
        """The key of a request that was not answered before a restart, else `make`, which is one from now on."""
        try:
            key = self._unfinished.read_bytes()
            tls.load_private_key(key)
        except (OSError, ValueError):
            tls.write_private(self._unfinished, make)
            return make
        return key
