"""The scheduler in numbers, under the names of upstream's metrics."""

from tiphys.base.metrics import Registry, exponential
from tiphys.scheduler.state import State


class Observer:
    def __init__(self, registry: Registry | None = None) -> None:
        made = registry or Registry()
        self._attempts = made.counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while "
            "'error' means an internal scheduler problem.",
            ("result", "profile"),
        )
        self._seconds = made.histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            ("result", "profile"),
            exponential(0.0001, 2, 16),
        )
        self._pod_attempts = made.histogram(
            "scheduler_pod_scheduling_attempts", "Number of attempts to successfully schedule a pod.", (), (1, 2, 4, 8, 16)
        )
        self._pod_seconds = made.histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve "
            "multiple scheduling attempts.",
            (),
            exponential(0.01, 2, 20),
        )
        self._victims = made.histogram(
            "scheduler_preemption_victims", "Number of selected preemption victims", (), exponential(1, 2, 7)
        )
        self._preemptions = made.counter(
            "scheduler_preemption_attempts_total", "Total preemption attempts in the cluster till now"
        )
        self._pending = made.gauge(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of "
            "pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to "
            "schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule "
            "because they are gated.",
            ("queue",),
        )
        self._registry = made

    def follow(self, state: State) -> None:
        """Show the length of its queues."""

        def refresh() -> None:
            for place, count in state.queue.counts().items():
                self._pending.labels(place).set(count)

        self._registry.before_render(refresh)

    def tried(self, result: str, profile: str, seconds: float) -> None:
        self._attempts.labels(result, profile).value += 1
        self._seconds.labels(result, profile).observe(seconds)

    def bound(self, attempts: int, seconds: float) -> None:
        self._pod_attempts.only.observe(attempts)
        self._pod_seconds.only.observe(seconds)

    def preempted(self, victims: int) -> None:
        self._preemptions.only.inc()
        self._victims.only.observe(victims)
