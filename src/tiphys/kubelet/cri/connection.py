"""gRPC calls to the runtime over its unix socket."""

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from tiphys.base.protos import Protos, load

_OPTIONS = (
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.max_send_message_length", 16 << 20),
    # A runtime that comes back is to be found soon: it is on this machine, and asking costs nothing.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
CALL_SECONDS = 120.0


class RuntimeFailed(Exception):
    """The runtime refused, or did not answer; the text is its own."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def not_found(self) -> bool:
        return self.code is grpc.StatusCode.NOT_FOUND

    @property
    def unavailable(self) -> bool:
        return self.code is grpc.StatusCode.UNAVAILABLE

    @property
    def still_runs(self) -> bool:
        """What was to be removed, though the runtime had noted its end."""
        return self.code is grpc.StatusCode.FAILED_PRECONDITION and "cannot delete running task" in self.args[0]

    @property
    def late(self) -> bool:
        return self.code is grpc.StatusCode.DEADLINE_EXCEEDED

    def __str__(self) -> str:
        """As Go prints an error of gRPC: users read this in events and statuses."""
        return f"rpc error: code = {_GO_NAMES.get(self.code, 'Unknown')} desc = {self.args[0]}"


_GO_NAMES = {code: "".join(part.capitalize() for part in code.name.split("_")) for code in grpc.StatusCode}


@cache
def protos() -> Protos:
    return load((Path(__file__).parent / "runtime.proto").read_text(), "runtime.proto")


class Connection:
    """Made inside a running event loop; `close` it there."""

    def __init__(self, socket: Path) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{socket}", options=_OPTIONS)
        self._calls: dict[tuple[str, str], Any] = {}
        self._protos = protos()
        self.told: Callable[[str, float, bool], None] = _nobody
        """Told of each call: its name, its seconds, whether it failed."""

    async def close(self) -> None:
        await self._channel.close()

    async def call(self, service: str, name: str, message: Any, seconds: float = CALL_SECONDS) -> Any:
        call = self._calls.get((service, name))
        if call is None:
            method = self._protos.services[service][name]
            call = self._channel.unary_unary(
                method.path,
                request_serializer=lambda made: made.SerializeToString(),
                response_deserializer=method.response.FromString,
            )
            self._calls[service, name] = call
        began, failed = time.perf_counter(), True
        try:
            answer = await call(message, timeout=seconds, wait_for_ready=False)
            failed = False
        except grpc.aio.AioRpcError as error:
            raise RuntimeFailed(error.code(), error.details() or "") from error
        finally:
            self.told(_snake(name), time.perf_counter() - began, failed)
        return answer


def _nobody(_name: str, _seconds: float, _failed: bool) -> None:
    """Nobody listens."""


@cache
def _snake(name: str) -> str:
    """As upstream's metrics call it: ListPodSandbox is list_podsandbox there, and in every dashboard."""
    words = _METRIC_NAMES.get(name)
    return words or "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")


_METRIC_NAMES = {
    "RunPodSandbox": "run_podsandbox",
    "StopPodSandbox": "stop_podsandbox",
    "RemovePodSandbox": "remove_podsandbox",
    "PodSandboxStatus": "podsandbox_status",
    "ListPodSandbox": "list_podsandbox",
    "UpdateContainerResources": "update_container",
    "PortForward": "port_forward",
}
