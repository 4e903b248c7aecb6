"""The numbers of queues, under upstream's names. v1.36.4 staging/src/k8s.io/component-base/metrics/prometheus/workqueue."""

from tiphys.base.metrics import Registry
from tiphys.client.workqueue import WorkQueue
from tiphys.controllers.metrics import QUEUES, QueueMetrics
from tiphys.controllers.registry import Settings, controllers


def shown(registry):
    lines = [line for line in registry.render().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_what_a_queue_tells():
    registry, queue, now = Registry(), WorkQueue(), [0.0]
    metrics = QueueMetrics(registry, "deployment-controller", queue, lambda: now[0])
    for key in ("a", "b", "c"):
        queue.add(key, 0.0)
    _, waited = queue.take(2.0)
    metrics.taken(waited)
    queue.take(3.0)
    queue.retry("a", 3.0)
    now[0] = 7.0
    told = shown(registry)
    label = '{name="deployment"}'
    assert told[f"workqueue_depth{label}"] == 1
    assert told[f"workqueue_adds_total{label}"] == 3
    assert told[f"workqueue_retries_total{label}"] == 1
    assert told[f"workqueue_queue_duration_seconds_sum{label}"] == 2
    assert told[f"workqueue_unfinished_work_seconds{label}"] == 5 + 4
    assert told[f"workqueue_longest_running_processor_seconds{label}"] == 5
    queue.done("a")
    queue.done("b")
    metrics.worked(5.0)
    assert shown(registry)[f"workqueue_longest_running_processor_seconds{label}"] == 0
    assert shown(registry)[f"workqueue_work_duration_seconds_count{label}"] == 1


def test_no_two_controllers_share_a_name():
    every = [each.name for each in controllers(Settings("certificate", account_token=lambda _account, _secret: ""))]
    assert len({QUEUES.get(name, name) for name in every}) == len(every)
