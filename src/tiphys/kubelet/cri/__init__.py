"""The container runtime: what it is asked (gRPC, `runtime.proto`) and what it says, as values."""

import os

# Children are started by exec; gRPC need not look after forks, and tell of each in the log.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
