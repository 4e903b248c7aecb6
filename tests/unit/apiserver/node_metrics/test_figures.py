"""metrics.k8s.io/v1beta1 from a kubelet's figures (https://github.com/kubernetes-sigs/metrics-server: pkg/storage)."""

from tiphys.apiserver.node_metrics.figures import NODE, look, node_metrics, pod_metrics, used


def text(at, cpu, *, started=0.0, memory=2048, node_cpu=100.0):
    labels = 'container="c",namespace="shop",pod="web"'
    stamp = int(at * 1000)
    return (
        "# HELP nothing\n"
        f"container_cpu_usage_seconds_total{{{labels}}} {cpu} {stamp}\n"
        f"container_memory_working_set_bytes{{{labels}}} {memory} {stamp}\n"
        f"container_start_time_seconds{{{labels}}} {started}\n"
        f"node_cpu_usage_seconds_total {node_cpu} {stamp}\n"
        f"node_memory_working_set_bytes 4096 {stamp}\n"
    )


POD = {
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
    "status": {"containerStatuses": [{"name": "c", "state": {"running": {}}}]},
}


def test_rates_between_two_looks():
    before, now = look(text(1000, 10.0)), look(text(1010, 12.5, node_cpu=115.0))
    assert pod_metrics(POD, before, now) == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web"},
        },
        "timestamp": "1970-01-01T00:16:50Z",
        "window": "10s",
        "containers": [{"name": "c", "usage": {"cpu": "250000000n", "memory": "2Ki"}}],
    }
    node = node_metrics({"metadata": {"name": "n1"}}, before, now)
    assert (node["usage"], node["window"]) == ({"cpu": "1500000000n", "memory": "4Ki"}, "10s")


def test_a_container_that_began_between_the_looks():
    empty, now = look(""), look(text(1010, 1.0, started=1006.0))
    found = used(empty, now, ("shop", "web", "c"))
    assert (found.nanocores, found.window) == (250_000_000, 4.0)


def test_a_container_that_was_started_anew_tells_nothing_yet():
    before, now = look(text(1000, 10.0, started=900.0)), look(text(1010, 1.0, started=1008.0))
    assert pod_metrics(POD, before, now) is None


def test_a_part_is_not_taken_for_the_whole():
    two = {**POD, "status": {"containerStatuses": [{"name": each, "state": {"running": {}}} for each in "cd"]}}
    assert pod_metrics(two, look(text(1000, 1.0)), look(text(1010, 2.0))) is None
    done = {**POD, "status": {"containerStatuses": [{"name": "c", "state": {"terminated": {}}}]}}
    assert pod_metrics(done, look(text(1000, 1.0)), look(text(1010, 2.0))) is None


def test_one_look_is_not_enough_for_a_node():
    assert used(look(""), look(text(1010, 2.0)), NODE) is None
    assert used(look(text(1009.5, 1.0)), look(text(1010, 2.0)), NODE) is None
