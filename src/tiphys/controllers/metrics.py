"""The numbers of a work queue, under upstream's names."""

from collections.abc import Callable

from tiphys.base.metrics import Registry, exponential
from tiphys.client.workqueue import WorkQueue

QUEUES = {
    "bootstrap-signer-controller": "bootstrap_signer_queue",
    "clusterrole-aggregation-controller": "ClusterRoleAggregator",
    "cronjob-controller": "cronjob",
    "daemonset-controller": "daemonset",
    "deployment-controller": "deployment",
    "disruption-controller": "disruption",
    "endpoints-controller": "endpoint",
    "endpointslice-controller": "endpoint_slice",
    "endpointslice-mirroring-controller": "endpoint_slice_mirroring",
    "ephemeral-volume-controller": "ephemeral_volume",
    "garbage-collector-controller": "garbage_collector_attempt_to_delete",
    "horizontal-pod-autoscaler-controller": "horizontalpodautoscaler",
    "job-controller": "job",
    "namespace-controller": "namespace",
    "node-ipam-controller": "node",
    "node-lifecycle-controller": "node_lifecycle_controller",
    "persistentvolume-protection-controller": "pvprotection",
    "persistentvolumeclaim-protection-controller": "pvcprotection",
    "pod-garbage-collector-controller": "orphaned_pods_nodes",
    "replicaset-controller": "replicaset",
    "replicationcontroller-controller": "replicationmanager",
    "resourceclaim-controller": "resource_claim",
    "resourcequota-controller": "resourcequota_primary",
    "root-ca-certificate-publisher-controller": "root_ca_cert_publisher",
    "service-cidr-controller": "ipaddresses",
    "service-lb-controller": "service",
    "serviceaccount-controller": "serviceaccount",
    "serviceaccount-token-controller": "serviceaccount_tokens_service",
    "statefulset-controller": "statefulset",
    "taint-eviction-controller": "noexec_taint_pod",
    "token-cleaner-controller": "token_cleaner",
    "ttl-after-finished-controller": "ttl_jobs_to_delete",
    "ttl-controller": "ttlcontroller",
    "volumeattributesclass-protection-controller": "vacprotection",
}
"""Upstream's names of the queues of its controllers; others go by the controller's name."""

_BUCKETS = exponential(10e-9, 10, 10)


_UNFINISHED = (
    "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate "
    "stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases."
)
_LONGEST = "How many seconds has the longest running processor for workqueue been running."


class QueueMetrics:
    def __init__(self, registry: Registry, controller: str, queue: WorkQueue, monotonic: Callable[[], float]) -> None:
        name = QUEUES.get(controller, controller)
        label = ("name",)
        latency = "How long in seconds an item stays in workqueue before being requested."
        duration = "How long in seconds processing an item from workqueue takes."
        self._latency = registry.histogram("workqueue_queue_duration_seconds", latency, label, _BUCKETS).labels(name)
        self._duration = registry.histogram("workqueue_work_duration_seconds", duration, label, _BUCKETS).labels(name)
        depth = registry.gauge("workqueue_depth", "Current depth of workqueue", label).labels(name)
        adds = registry.counter("workqueue_adds_total", "Total number of adds handled by workqueue", label).labels(name)
        retries = registry.counter("workqueue_retries_total", "Total number of retries handled by workqueue", label).labels(
            name
        )

        unfinished = registry.gauge("workqueue_unfinished_work_seconds", _UNFINISHED, label).labels(name)
        longest = registry.gauge("workqueue_longest_running_processor_seconds", _LONGEST, label).labels(name)

        def refresh() -> None:
            running = queue.running(monotonic())
            unfinished.value, longest.value = sum(running), max(running, default=0.0)
            depth.value, adds.value, retries.value = float(len(queue)), float(queue.adds), float(queue.retries)

        registry.before_render(refresh)

    def taken(self, waited: float) -> None:
        self._latency.observe(waited)

    def worked(self, seconds: float) -> None:
        self._duration.observe(seconds)
