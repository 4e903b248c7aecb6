"""The figures in Prometheus' text format: few for autoscalers and `kubectl top`, many for people.

Names and labels are those of pkg/kubelet/metrics/collectors/resource_metrics.go and of cAdvisor
(https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md).
"""

from collections.abc import Iterable, Iterator, Sequence

from tiphys.base.metrics import quoted
from tiphys.kubelet.stats.figures import ContainerUse, Disk, Interface, NodeUse, PodUse, Use

Sample = tuple[str, float]
"""Labels, and the value."""
_NANO = 1e9


def resource(node: NodeUse, pods: Sequence[PodUse]) -> str:
    containers = [(f"{_in_pod(each.name, pod)}", each) for pod in pods for each in pod.containers]
    by_pod = [(_of_pod(pod), pod) for pod in pods]
    families: list[tuple[str, str, str, list[Sample]]] = [
        ("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container in core-seconds",
         [(labels, each.use.cpu / _NANO) for labels, each in containers]),
        ("container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes",
         [(labels, each.use.working_set) for labels, each in containers]),
        ("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds",
         [(labels, each.started_at) for labels, each in containers]),
        ("container_swap_usage_bytes", "gauge", "Current amount of the container swap usage in bytes.",
         [(labels, each.use.swap) for labels, each in containers]),
        ("node_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the node in core-seconds",
         [("", node.use.cpu / _NANO)]),
        ("node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes", [("", node.use.working_set)]),
        ("node_swap_usage_bytes", "gauge", "Current swap usage of the node in bytes.", [("", node.use.swap)]),
        ("pod_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the pod in core-seconds",
         [(labels, pod.use.cpu / _NANO) for labels, pod in by_pod]),
        ("pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes",
         [(labels, pod.use.working_set) for labels, pod in by_pod]),
        ("pod_swap_usage_bytes", "gauge", "Current amount of the pod swap usage in bytes.",
         [(labels, pod.use.swap) for labels, pod in by_pod]),
        ("resource_scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise", [("", 0)]),
        ("scrape_error", "gauge", "1 if there was an error while getting container metrics, 0 otherwise", [("", 0)]),
    ]  # fmt: skip
    untimed = ("container_start_time_seconds", "scrape_error", "resource_scrape_error")
    at = int(node.use.at * 1000)
    return "".join(_family(name, kind, told, samples, 0 if name in untimed else at) for name, kind, told, samples in families)


def _in_pod(container: str, pod: PodUse) -> str:
    return f'container="{quoted(container)}",{_of_pod(pod)}'


def _of_pod(pod: PodUse) -> str:
    meta = pod.pod["metadata"]
    return f'namespace="{quoted(meta["namespace"])}",pod="{quoted(meta["name"])}"'


def _family(name: str, kind: str, told: str, samples: Iterable[Sample], at: int) -> str:
    lines = [f"{name}{{{labels}}} {value!r}" if labels else f"{name} {value!r}" for labels, value in samples]
    if not lines:
        return ""
    stamp = f" {at}" if at else ""
    return f"# HELP {name} {told}\n# TYPE {name} {kind}\n" + "".join(f"{line}{stamp}\n" for line in lines)


# cAdvisor's.

_OF_USE: Sequence[tuple[str, str, str, str, float]] = (
    ("cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.", "cpu", _NANO),
    ("cpu_user_seconds_total", "counter", "Cumulative user cpu time consumed in seconds.", "user", _NANO),
    ("cpu_system_seconds_total", "counter", "Cumulative system cpu time consumed in seconds.", "system", _NANO),
    ("cpu_cfs_periods_total", "counter", "Number of elapsed enforcement period intervals.", "periods", 1),
    ("cpu_cfs_throttled_periods_total", "counter", "Number of throttled period intervals.", "throttled", 1),
    ("cpu_cfs_throttled_seconds_total", "counter", "Total time duration the container has been throttled.",
     "throttled_time", _NANO),
    ("memory_usage_bytes", "gauge", "Current memory usage in bytes, including all memory regardless of when it was accessed",
     "memory", 1),
    ("memory_working_set_bytes", "gauge", "Current working set in bytes.", "working_set", 1),
    ("memory_rss", "gauge", "Size of RSS in bytes.", "rss", 1),
    ("memory_cache", "gauge", "Number of bytes of page cache memory.", "cache", 1),
    ("memory_mapped_file", "gauge", "Size of memory mapped files in bytes.", "mapped", 1),
    ("memory_swap", "gauge", "Container swap usage in bytes.", "swap", 1),
    ("memory_max_usage_bytes", "gauge", "Maximum memory usage recorded in bytes", "most_memory", 1),
    ("memory_failcnt", "counter", "Number of memory usage hits limits", "failures", 1),
    ("spec_memory_limit_bytes", "gauge", "Memory limit for the container.", "memory_limit", 1),
    ("processes", "gauge", "Number of processes running inside the container.", "processes", 1),
)  # fmt: skip
_OF_NETWORK = (
    ("receive_bytes_total", "Cumulative count of bytes received", "received"),
    ("receive_errors_total", "Cumulative count of errors encountered while receiving", "receive_errors"),
    ("receive_packets_total", "Cumulative count of packets received", "received_packets"),
    ("transmit_bytes_total", "Cumulative count of bytes transmitted", "sent"),
    ("transmit_errors_total", "Cumulative count of errors encountered while transmitting", "send_errors"),
    ("transmit_packets_total", "Cumulative count of packets transmitted", "sent_packets"),
)


def cadvisor(node: NodeUse, pods: Sequence[PodUse], root: str) -> str:
    """`root`: the cgroup of all pods."""
    entries = list(_entries(node, pods, root))
    parts = []
    for name, kind, told, field, divisor in _OF_USE:
        samples = [(labels, getattr(use, field) / divisor if divisor != 1 else getattr(use, field)) for labels, use in entries]
        parts.append(_family(f"container_{name}", kind, told, samples, int(node.use.at * 1000)))
    containers = [(_labels(each, pod), each) for pod in pods for each in pod.containers]
    parts.append(_start_times(containers))
    parts += _disks([(labels, each.rootfs) for labels, each in containers if each.rootfs is not None], node.use.at)
    parts += _networks(node, pods)
    parts.append(_family("machine_cpu_cores", "gauge", "Number of logical CPU cores.", [("", node.cpus)], 0))
    memory = [("", node.memory_capacity)]
    parts.append(_family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.", memory, 0))
    return "".join(parts)


def _entries(node: NodeUse, pods: Sequence[PodUse], root: str) -> Iterator[tuple[str, Use]]:
    yield _labelled("", "/", "", "", "", ""), node.use
    for pod in pods:
        meta = pod.pod["metadata"]
        yield _labelled("", f"{root}/pod{meta['uid']}", "", "", meta["namespace"], meta["name"]), pod.use
        for each in pod.containers:
            yield _labels(each, pod), each.use


def _labels(container: ContainerUse, pod: PodUse) -> str:
    meta = pod.pod["metadata"]
    return _labelled(container.name, container.id, container.image, container.id, meta["namespace"], meta["name"])


def _labelled(container: str, cgroup: str, image: str, name: str, namespace: str, pod: str) -> str:
    values = {"container": container, "id": cgroup, "image": image, "name": name, "namespace": namespace, "pod": pod}
    return ",".join(f'{label}="{quoted(value)}"' for label, value in values.items())


def _start_times(containers: Sequence[tuple[str, ContainerUse]]) -> str:
    told = "Start time of the container since unix epoch in seconds."
    return _family("container_start_time_seconds", "gauge", told, [(labels, each.started_at) for labels, each in containers], 0)


def _disks(found: Sequence[tuple[str, Disk]], now: float) -> Iterator[str]:
    at = int(now * 1000)
    for name, told, field in (
        ("fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.", "used"),
        ("fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem.", "capacity"),
        ("fs_inodes_free", "Number of available Inodes", "inodes_free"),
        ("fs_inodes_total", "Number of Inodes", "inodes"),
    ):
        yield _family(f"container_{name}", "gauge", told, [(labels, getattr(disk, field)) for labels, disk in found], at)


def _networks(node: NodeUse, pods: Sequence[PodUse]) -> Iterator[str]:
    found: list[tuple[str, Interface]] = [
        (f'{_labelled("", "/", "", "", "", "")},interface="{quoted(each.name)}"', each) for each in node.interfaces
    ]
    for pod in pods:
        meta = pod.pod["metadata"]
        labels = _labelled("", pod.sandbox, "", pod.sandbox, meta["namespace"], meta["name"])
        found += [(f'{labels},interface="{quoted(each.name)}"', each) for each in pod.interfaces]
    for name, told, field in _OF_NETWORK:
        samples = [(labels, getattr(each, field)) for labels, each in found]
        yield _family(f"container_network_{name}", "counter", told, samples, int(node.use.at * 1000))
