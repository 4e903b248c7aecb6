"""The gRPC health checking protocol (https://github.com/grpc/grpc/blob/master/doc/health-checking.md)."""

from functools import cache

import grpc
import grpc.aio

from tiphys.base.protos import Protos, load
from tiphys.kubelet.probes.answer import Answer

_PROTO = """
syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
"""


@cache
def _protos() -> Protos:
    return load(_PROTO, "health.proto")


async def grpc_health(address: str, port: int, service: str, seconds: float) -> Answer:
    """In upstream's words (pkg/probe/grpc/grpc.go)."""
    target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    method = _protos().services["Health"]["Check"]
    async with grpc.aio.insecure_channel(target) as channel:
        call = channel.unary_unary(
            method.path,
            request_serializer=lambda made: made.SerializeToString(),
            response_deserializer=method.response.FromString,
        )
        try:
            found = await call(method.request(service=service), timeout=seconds)
        except grpc.aio.AioRpcError as error:
            return Answer(False, _words(error, target, seconds))
    if found.status == 1:
        return Answer(True, "")
    names = {number: name for name, number in _protos().enums["HealthCheckResponse.ServingStatus"].items()}
    return Answer(False, f'service unhealthy (responded with "{names.get(found.status, found.status)}")')


def _words(error: grpc.aio.AioRpcError, target: str, seconds: float) -> str:
    code = error.code()
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return f"this server does not implement the grpc health protocol (grpc.health.v1.Health): {error.details()}"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"timeout: health rpc did not complete within {seconds:g}s"
    if code is grpc.StatusCode.UNAVAILABLE:
        return f'timeout: failed to connect service "{target}" within {seconds:g}s: {error.details()}'
    return f"error: health rpc probe failed: {error.details()}"
