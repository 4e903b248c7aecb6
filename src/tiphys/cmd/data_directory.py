"""The data directory of a cluster: what is in it, whose it is, and which processes run from it.

DIR/tiphys.json        marks the directory as ours: format, cluster name
DIR/pki/               CA, serving and client certificates, service account keys (0600)
DIR/store.db           the SQLite store
DIR/run.json           pids and addresses while the cluster runs
DIR/lock               held by the running cluster, with its pid
DIR/merged.json        the user's kubeconfig that was given a context
DIR/admin.kubeconfig   for kubectl
DIR/node/              of the real node: its containerd, volumes, logs
DIR/node-1/ ...        of several nodes, in network namespaces of their own
DIR/network.json       which part of its machine's addresses the cluster has
DIR/tiphys.log         of a detached cluster
"""

import argparse
import fcntl
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

MARKER = "tiphys.json"
FORMAT = 1
LOCK_ATTEMPTS = 10


class Unusable(Exception):
    """A sentence for the user: what is wrong with the directory and what to do."""


@dataclass(frozen=True, slots=True)
class DataDirectory:
    path: Path

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def store(self) -> Path:
        return self.path / "store.db"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "admin.kubeconfig"

    @property
    def node(self) -> Path:
        return self.path / "node"

    def node_of(self, index: int) -> Path:
        """Of several, from 0."""
        return self.path / f"node-{index + 1}"

    @property
    def nodes(self) -> list[Path]:
        """The folders of all real nodes that there are, or were."""
        return sorted(each for each in self.path.glob("node*") if each.is_dir())

    @property
    def network(self) -> Path:
        return self.path / "network.json"

    @property
    def log(self) -> Path:
        return self.path / "tiphys.log"

    @property
    def _run(self) -> Path:
        return self.path / "run.json"

    def prepare(self) -> None:
        """Make it, or check that it is ours. Nothing in it is changed unless it is empty or ours."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            entries = [each.name for each in self.path.iterdir()]
        except NotADirectoryError:
            raise Unusable(f"{self.path} is not a directory") from None
        except FileExistsError:
            raise Unusable(f"{self.path} is a file, not a directory") from None
        except PermissionError:
            raise Unusable(f"no permission to use {self.path}; choose another directory with --data-dir") from None
        except OSError as problem:
            told = f"cannot make {self.path}: {problem.strerror}"
            raise Unusable(f"{told}; choose another directory with --data-dir") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise Unusable(f"no permission to write in {self.path}; choose another directory with --data-dir")
        if MARKER in entries:
            self._check_marker()
        elif entries:
            raise Unusable(f"{self.path} is not empty and was not made by tiphys; choose another directory with --data-dir")
        else:
            self._write(self.path / MARKER, {"format": FORMAT})

    def _check_marker(self) -> None:
        try:
            marker = orjson.loads((self.path / MARKER).read_bytes())
            found = marker["format"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise Unusable(f"{self.path / MARKER} is damaged; restore it or choose another directory") from None
        except PermissionError:
            raise Unusable(f"no permission to read {self.path}; choose another directory with --data-dir") from None
        if found != FORMAT:
            raise Unusable(f"{self.path} has format {found}; this version of tiphys knows format {FORMAT}")

    def require(self) -> None:
        """Raises Unusable unless this is a data directory that this program understands."""
        try:
            ours = (self.path / MARKER).is_file()
        except PermissionError:
            raise Unusable(f"no permission to read {self.path}") from None
        if not ours:
            told = "is not a data directory of tiphys" if self.path.exists() else "does not exist"
            raise Unusable(f"{self.path} {told}; --data-dir names that of a cluster")
        self._check_marker()

    def lock(self) -> IO[bytes]:
        """Hold this for as long as the cluster runs. Raises Unusable if another process does."""
        try:
            handle = self._lock.open("ab")
        except PermissionError:
            raise Unusable(f"no permission to write in {self.path}; choose another directory with --data-dir") from None
        for _ in range(LOCK_ATTEMPTS):
            if _try_lock(handle, fcntl.LOCK_EX):
                handle.truncate(0)
                handle.write(b"%d\n" % os.getpid())
                handle.flush()
                return handle
            # It may be no more than a `tiphys status` having a look.
            time.sleep(0.01)
        handle.close()
        raise Unusable(f"a cluster is already running from {self.path} (pid {self.pid}); `{self.down}` ends it")

    @property
    def down(self) -> str:
        """The command that ends what runs from here."""
        return "tiphys down" if self.path == default_path() else f"tiphys down --data-dir {shlex.quote(str(self.path))}"

    @property
    def _lock(self) -> Path:
        return self.path / "lock"

    @property
    def is_locked(self) -> bool:
        """Whether a cluster runs from here."""
        if not self._lock.exists():
            return False
        with self._lock.open("rb") as handle:
            return not _try_lock(handle, fcntl.LOCK_SH)

    @property
    def pid(self) -> int:
        """Of the process that holds the lock, or held it last; 0 before the first."""
        try:
            return int(self._lock.read_text())
        except (OSError, ValueError):
            return 0

    def note_merged(self, file: Path, context: str) -> None:
        self._write(self._merged, {"file": str(file.absolute()), "context": context})

    @property
    def merged(self) -> tuple[Path, str] | None:
        """The kubeconfig file that was given a context, and the context."""
        try:
            noted = orjson.loads(self._merged.read_bytes())
            return Path(noted["file"]), noted["context"]
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            return None

    @property
    def _merged(self) -> Path:
        return self.path / "merged.json"

    def write_run(self, run: dict[str, Any]) -> None:
        self._write(self._run, run)

    def read_run(self) -> dict[str, Any]:
        try:
            run: dict[str, Any] = orjson.loads(self._run.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        return run

    def forget_run(self) -> None:
        self._run.unlink(missing_ok=True)

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        fresh = path.with_suffix(".new")
        fresh.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        fresh.replace(path)


def _try_lock(handle: IO[bytes], how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def default_path() -> Path:
    if given := os.environ.get("TIPHYS_DATA_DIR"):
        return Path(given)
    return Path.home() / ".tiphys"


def add_flag(parser: argparse._ActionsContainer, told: str = "of the cluster") -> None:
    """The same of every command that works on a cluster of this machine."""
    parser.add_argument("--data-dir", type=Path, default=default_path(), metavar="DIR", help=f"{told} (default: %(default)s)")
