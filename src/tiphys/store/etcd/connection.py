"""Calls to an etcd cluster: one member at a time, the next one when it does not answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import grpc.aio

from tiphys.base.protos import Method, Protos, load
from tiphys.store.etcd.keys import DEFAULT_PREFIX
from tiphys.store.interface import Unavailable

CALL_SECONDS = 5.0
_RETRY_SECONDS = 0.1

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A member that has vanished without a word is noticed by these; etcd allows one in five seconds.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)

# The member's fault, not the request's: another one may do better.
_NOT_ANSWERED = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
    }
)


@dataclass(frozen=True, slots=True)
class EtcdConfig:
    endpoints: Sequence[str]
    """http://host:port or https://host:port."""
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    prefix: str = DEFAULT_PREFIX
    """Of all keys."""
    patience: float = 10.0
    """Seconds until a request that may be repeated is given up, over all members."""


class Refused(Exception):
    """etcd has answered with an error that speaks of the request."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


@cache
def protos() -> Protos:
    return load((Path(__file__).parent / "etcd.proto").read_text(), "etcd.proto")


class Connection:
    """Made inside a running event loop; `close` it there."""

    def __init__(self, config: EtcdConfig) -> None:
        if not config.endpoints:
            raise ValueError("no etcd endpoint is configured")
        self.patience = config.patience
        self._endpoints = [_split(endpoint) for endpoint in config.endpoints]
        secure = any(tls for _, tls in self._endpoints)
        self._credentials = _credentials(config) if secure else None
        self._channels: list[Any] = [None] * len(self._endpoints)
        self._calls: dict[tuple[int, str], Any] = {}
        self._current = 0

    @property
    def target(self) -> str:
        return self._endpoints[self._current][0]

    def channel(self) -> Any:
        """To the member in use."""
        held = self._channels[self._current]
        if held is None:
            target, tls = self._endpoints[self._current]
            if tls:
                held = grpc.aio.secure_channel(target, self._credentials, options=_OPTIONS)
            else:
                held = grpc.aio.insecure_channel(target, options=_OPTIONS)
            self._channels[self._current] = held
        return held

    def move_on(self, target: str) -> None:
        """`target` has not answered: use the next member, unless somebody else has moved on meanwhile."""
        if target == self.target:
            self._current = (self._current + 1) % len(self._endpoints)

    async def call(self, service: str, name: str, request: Any, *, seconds: float = CALL_SECONDS) -> Any:
        """One attempt. Raises Refused, or Unavailable: then it is not known whether it happened."""
        target = self.target
        call = self._calls.get((self._current, name))
        if call is None:
            method = protos().services[service][name]
            call = self._calls[self._current, name] = self._unary(method)
        try:
            return await call(request, timeout=seconds)
        except grpc.aio.AioRpcError as error:
            raise self.failed(error, target) from None
        except asyncio.CancelledError:
            raise self.cancelled(target) from None

    async def ask(self, service: str, name: str, request: Any) -> Any:
        """A request that may be repeated: tried on one member after the other for a while."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.patience
        while True:
            try:
                return await self.call(service, name, request, seconds=min(CALL_SECONDS, max(until - loop.time(), 0.1)))
            except Unavailable:
                if loop.time() + _RETRY_SECONDS >= until:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    def stream(self, service: str, name: str, metadata: Sequence[tuple[str, str]] = ()) -> Any:
        method = protos().services[service][name]
        return self.channel().stream_stream(
            method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString
        )(metadata=metadata)

    def cancelled(self, target: str) -> Unavailable:
        """grpc tells in this way too that the other side has cancelled; raises CancelledError if it was not that."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        self.move_on(target)
        return Unavailable(f"etcd at {target} has cancelled a call")

    async def close(self) -> None:
        for channel in self._channels:
            if channel is not None:
                await channel.close()

    def _unary(self, method: Method) -> Any:
        return self.channel().unary_unary(
            method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString
        )

    def failed(self, error: Any, target: str) -> Unavailable | Refused:
        """What the error of a call or a stream means; moves on if it is the member's fault."""
        code, details = error.code(), error.details() or ""
        if code in _NOT_ANSWERED:
            self.move_on(target)
            return Unavailable(f"etcd at {target} does not answer: {details or code.name}")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return Unavailable(f"etcd at {target} is out of resources: {details}")
        return Refused(code, details)


def _split(endpoint: str) -> tuple[str, bool]:
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"{endpoint!r} is not an etcd endpoint")
    return parts.netloc, parts.scheme == "https"


def _credentials(config: EtcdConfig) -> Any:
    def read(path: Path | None) -> bytes | None:
        return path.read_bytes() if path is not None else None

    return grpc.ssl_channel_credentials(read(config.ca), read(config.key), read(config.cert))
