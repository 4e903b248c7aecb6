"""A real etcd of a test's own, to be started, killed and looked into."""

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import grpc
from tests.ports import steady_port

from tiphys.store.etcd.connection import protos


class Etcd:
    """A real etcd, on loopback: the only member of its cluster, unless told otherwise."""

    def __init__(self, folder: Path, server_tls: Sequence[str | Path] = (), name: str = "test") -> None:
        self.folder = folder
        self.name = name
        self.server_tls = server_tls
        self.client = f"{'https' if server_tls else 'http'}://127.0.0.1:{steady_port()}"
        self.peer = f"http://127.0.0.1:{steady_port()}"
        self.cluster = f"{name}={self.peer}"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.launch()
        if not self.server_tls:  # otherwise only its client can tell when it is there
            self.wait()

    def launch(self) -> None:
        self.process = subprocess.Popen(
            [
                *("etcd", "--name", self.name, "--data-dir", str(self.folder / "data"), "--unsafe-no-fsync"),
                *("--listen-client-urls", self.client, "--advertise-client-urls", self.client),
                *("--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer),
                *("--initial-cluster", self.cluster),
                *self.server_tls,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        until = time.monotonic() + 60
        answered = False
        while not answered:
            answered = self.answers()
            # What answers must be this one, and not somebody else's to whom the port has fallen meanwhile.
            assert self.process.poll() is None, "etcd has ended"
            assert time.monotonic() < until, "etcd does not start"
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            self.call("KV", "Range", key=b"x")
        except grpc.RpcError:
            return False
        return True

    def call(self, service: str, name: str, **request):
        """Behind the back of the store under test."""
        method = protos().services[service][name]
        with grpc.insecure_channel(self.client.removeprefix("http://")) as channel:
            ask = channel.unary_unary(
                method.path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.response.FromString,
            )
            return ask(method.request(**request), timeout=30)

    def put(self, key: str, value: bytes) -> int:
        put = protos()["RequestOp"](request_put={"key": key.encode(), "value": value})
        return self.call("KV", "Txn", success=[put]).header.revision

    def delete(self, key: str) -> int:
        delete = protos()["RequestOp"](request_delete_range={"key": key.encode()})
        return self.call("KV", "Txn", success=[delete]).header.revision

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def wipe(self) -> None:
        delete = protos()["RequestOp"](request_delete_range={"key": b"\0", "range_end": b"\0"})
        self.call("KV", "Txn", success=[delete])
