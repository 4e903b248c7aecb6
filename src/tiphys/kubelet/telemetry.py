"""What the kubelet counts of itself, under upstream's names (pkg/kubelet/metrics/metrics.go)."""

from collections.abc import Callable

from tiphys.base.metrics import Registry, exponential
from tiphys.base.process_metrics import show_process

_PROBES = ("probe_type", "result", "container", "pod", "namespace", "pod_uid")


class Telemetry:
    def __init__(self, node: str) -> None:
        self.registry = registry = Registry()
        self.probes = Registry()
        """Of their own: they have a path of their own."""
        show_process(registry)
        registry.gauge("kubelet_node_name", "The node's name. The count is always 1.", ("node",)).labels(node).set(1)
        self.requests = registry.counter(
            "kubelet_http_requests_total", "Number of the http requests received since the server started", ("method", "path")
        )
        self.operations = registry.counter(
            "kubelet_runtime_operations_total",
            "Cumulative number of runtime operations by operation type.",
            ("operation_type",),
        )
        self.operation_errors = registry.counter(
            "kubelet_runtime_operations_errors_total",
            "Cumulative number of runtime operation errors by operation type.",
            ("operation_type",),
        )
        self.operation_seconds = registry.histogram(
            "kubelet_runtime_operations_duration_seconds",
            "Duration in seconds of runtime operations. Broken down by operation type.",
            ("operation_type",),
            exponential(0.005, 2.5, 14),
        )
        self.relist_seconds = registry.histogram(
            "kubelet_pleg_relist_duration_seconds", "Duration in seconds for relisting pods in PLEG."
        ).only
        self.last_seen = registry.gauge(
            "kubelet_pleg_last_seen_seconds", "Timestamp in seconds when PLEG was last seen active."
        ).only
        self._running_pods = registry.gauge("kubelet_running_pods", "Number of pods that have a running pod sandbox").only
        self._running = registry.gauge(
            "kubelet_running_containers", "Number of containers currently running", ("container_state",)
        )
        self._probed = self.probes.counter(
            "prober_probe_total",
            "Cumulative number of a liveness, readiness or startup probe for a container by result.",
            _PROBES,
        )

    def watch(self, running: Callable[[], tuple[int, dict[str, int]]]) -> None:
        """`running`: pods that run, and containers by state."""

        def refresh() -> None:
            pods, states = running()
            self._running_pods.set(pods)
            for state in ("created", "running", "exited", "unknown"):
                self._running.labels(state).set(states.get(state, 0))

        self.registry.before_render(refresh)

    def called(self, operation: str, seconds: float, *, failed: bool) -> None:
        """The container runtime, for something."""
        self.operations.labels(operation).inc()
        self.operation_seconds.labels(operation).observe(seconds)
        if failed:
            self.operation_errors.labels(operation).inc()

    def probed(self, kind: str, result: str, container: str, pod: tuple[str, str, str]) -> None:
        """`pod`: its name, its namespace, its uid."""
        self._probed.labels(kind.capitalize(), result, container, *pod).inc()
