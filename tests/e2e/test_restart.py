"""kill -9 in the middle of work: what was acknowledged is there afterwards, and time only moves forwards."""

import http.client
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from tests.etcd import Etcd
from tests.ports import steady_port

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("TIPHYS_KILL_ROUNDS", "2"))
"""Two hundred of them were run; a few find most of what can go wrong."""


def _read_out(stream: IO[str]) -> None:
    with stream:
        stream.read()


class Server:
    """`tiphys up` on one data directory and one port, started as often as it is killed."""

    def __init__(self, folder: Path, store: str = "sqlite") -> None:
        self._store = store
        self.data = folder / "data"
        tokens = folder / "tokens.csv"
        tokens.write_text('t,admin,1,"system:masters"\n')
        self._tokens, self._port = tokens, steady_port()
        self.process: subprocess.Popen[str]
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tiphys.cmd.main", "up", "--no-merge", "--node", "none", "--port", str(self._port)]
        command += ["--disable", "scheduler,controllers,proxy,dns", "--data-dir", str(self.data)]
        command += ["--store", self._store]
        command += ["--token-auth-file", str(self._tokens)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        told = []
        for line in self.process.stdout:
            told.append(line)
            if line.startswith("Ready"):
                break
        else:
            raise AssertionError(f"it does not start: {''.join(told)}")
        # What it says of a store that goes and comes must not fill the pipe until it waits for a reader.
        self._reader = threading.Thread(target=_read_out, args=(self.process.stdout,))
        self._reader.start()
        self.context = ssl.create_default_context(cafile=str(self.data / "pki" / "ca.crt"))

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(60)
        self._reader.join()

    def wait_until_ready(self) -> None:
        patience = time.monotonic() + 60
        while True:
            try:
                with self.send("GET", "/readyz"):
                    return
            except OSError:
                assert time.monotonic() < patience, "the server does not come back"
                time.sleep(0.05)

    def send(self, method: str, path: str, tree: dict | None = None):
        request = urllib.request.Request(
            f"https://127.0.0.1:{self._port}{path}",
            data=json.dumps(tree).encode() if tree is not None else None,
            headers={"Authorization": "Bearer t", "Content-Type": "application/json"},
            method=method,
        )
        return urllib.request.urlopen(request, context=self.context, timeout=30)

    def json(self, method: str, path: str, tree: dict | None = None) -> dict:
        with self.send(method, path, tree) as answer:
            return json.loads(answer.read())


COLLECTION = "/api/v1/namespaces/default/configmaps"


class Load:
    """Creates, changes and deletes until the server is gone; notes what it tries, and what was acknowledged."""

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self.acknowledged: dict[str, int] = {}
        self.deleted: set[str] = set()

    def work(self, server: Server, prefix: str, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set():
            name = f"{prefix}{number}"
            number += 1
            self.tried.add(name)
            try:
                made = server.json("POST", COLLECTION, {"metadata": {"name": name}, "data": {"n": "0"}})
                self.acknowledged[name] = int(made["metadata"]["resourceVersion"])
                if number % 3 == 0:
                    made["data"] = {"n": "1"}
                    made = server.json("PUT", f"{COLLECTION}/{name}", made)
                    self.acknowledged[name] = int(made["metadata"]["resourceVersion"])
                if number % 5 == 0:
                    # Not acknowledged, it may or may not have happened.
                    self.acknowledged.pop(name)
                    server.json("DELETE", f"{COLLECTION}/{name}")
                    self.deleted.add(name)
            except (OSError, http.client.HTTPException):
                return

    def through(self, server: Server, turn: int, kill: Callable[[], None], again: Callable[[], None]) -> None:
        """Work, while what it works on is killed and comes back."""
        stop = threading.Event()
        workers = [threading.Thread(target=self.work, args=(server, f"{turn}{letter}", stop)) for letter in "abc"]
        for worker in workers:
            worker.start()
        before, patience = len(self.acknowledged), time.monotonic() + 20
        while len(self.acknowledged) < before + random.randint(5, 60) and time.monotonic() < patience:
            time.sleep(0.001)
        stop.set()
        kill()
        again()
        for worker in workers:
            worker.join()

    def check(self, server: Server) -> int:
        """The revision of a list in which everything is as it was acknowledged."""
        listing = server.json("GET", COLLECTION)
        found = {each["metadata"]["name"]: int(each["metadata"]["resourceVersion"]) for each in listing["items"]}
        assert self.acknowledged, "the load did nothing"
        assert not {name for name, version in self.acknowledged.items() if found.get(name, 0) < version}
        assert not self.deleted & set(found)
        assert not set(found) - self.tried - {"kube-root-ca.crt"}
        now = int(listing["metadata"]["resourceVersion"])
        assert now >= max(found.values())
        return now


def rounds(server: Server, kill: Callable[[], None], again: Callable[[], None]) -> None:
    """Load, a kill, a look; the objects of a round go in the end, so that long runs list little."""
    newest = 0
    try:
        for turn in range(ROUNDS):
            load = Load()
            load.through(server, turn, kill, again)
            now = load.check(server)
            assert now > newest
            made = server.json("POST", COLLECTION, {"metadata": {"generateName": "after-"}})
            newest = int(made["metadata"]["resourceVersion"])
            assert newest > now
            server.json("DELETE", COLLECTION)
    finally:
        server.kill()


def test_nothing_acknowledged_is_lost(tmp_path):
    server = Server(tmp_path)
    rounds(server, server.kill, server.start)


@pytest.mark.etcd
@pytest.mark.parametrize("victims", ["API server", "etcd", "both"])
def test_nothing_acknowledged_is_lost_on_etcd(tmp_path, victims):
    folder = tmp_path / "etcd"
    folder.mkdir()
    etcd = Etcd(folder)
    etcd.start()
    server = Server(tmp_path, etcd.client)

    def kill() -> None:
        if victims != "API server":
            etcd.stop()
        if victims != "etcd":
            server.kill()

    def again() -> None:
        if victims != "API server":
            etcd.start()
        if victims != "etcd":
            server.start()
        else:
            server.wait_until_ready()

    try:
        rounds(server, kill, again)
    finally:
        etcd.stop()


def test_watches_resume_after_a_crash(tmp_path):
    server = Server(tmp_path)
    try:
        since = server.json("GET", COLLECTION)["metadata"]["resourceVersion"]
        for name in ("one", "two"):
            server.json("POST", COLLECTION, {"metadata": {"name": name}})
        server.kill()
        server.start()
        server.json("POST", COLLECTION, {"metadata": {"name": "three"}})
        # The log of events survives as well, so a watch that was there goes on where it stopped.
        with server.send("GET", f"{COLLECTION}?watch=1&resourceVersion={since}&timeoutSeconds=60") as stream:
            events = [json.loads(stream.readline()) for _ in range(3)]
        assert [(each["type"], each["object"]["metadata"]["name"]) for each in events] == [
            ("ADDED", "one"),
            ("ADDED", "two"),
            ("ADDED", "three"),
        ]
        # What is older than the log is told so.
        with server.send("GET", f"{COLLECTION}?watch=1&resourceVersion=1&timeoutSeconds=60") as stream:
            first = json.loads(stream.readline())
        assert first["type"] in ("ADDED", "ERROR")
        if first["type"] == "ERROR":
            assert first["object"]["code"] == 410
    finally:
        server.kill()


def test_a_restore_lets_nobody_take_old_for_new(tmp_path, tiphys):
    server = Server(tmp_path)
    try:
        server.json("POST", COLLECTION, {"metadata": {"name": "kept"}})
        backup = tmp_path / "backup.db"
        made = tiphys("backup", "--data-dir", server.data, backup)
        assert made.returncode == 0, made.stderr
        seen = server.json("POST", COLLECTION, {"metadata": {"name": "lost"}})["metadata"]["resourceVersion"]
        refused = tiphys("restore", "--data-dir", server.data, backup)
        assert refused.returncode == 1
        assert "is already running" in refused.stderr

        server.kill(signal.SIGTERM)
        assert server.process.returncode == 0
        assert tiphys("restore", "--data-dir", server.data, backup).returncode == 0
        server.start()
        names = {each["metadata"]["name"] for each in server.json("GET", COLLECTION)["items"]}
        assert "kept" in names
        assert "lost" not in names
        # Revisions jump ahead of all that clients can have seen; they list again.
        assert int(server.json("GET", COLLECTION)["metadata"]["resourceVersion"]) > int(seen)
        try:
            with server.send("GET", f"{COLLECTION}?watch=1&resourceVersion={seen}&timeoutSeconds=60") as stream:
                told = json.loads(stream.readline())["object"]
        except urllib.error.HTTPError as problem:
            with problem:
                told = json.loads(problem.read())
        assert told["code"] == 410
    finally:
        server.kill()
