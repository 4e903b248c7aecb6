"""What the proxy counts, under upstream's names (pkg/proxy/metrics)."""

from collections.abc import Iterable

from tiphys.base.metrics import Registry, exponential
from tiphys.proxy.ledger import Ledger

FAMILY = "ip_family"

_SYNC = exponential(0.001, 2, 15)
_PROGRAMMING = (0.25, 0.5, *range(1, 60), *range(60, 120, 5), *range(120, 301, 30))


class ProxyMetrics:
    def __init__(self, registry: Registry, mode: str) -> None:
        self.registry = registry
        self._mode = mode
        name = "kubeproxy_sync_proxy_rules"
        histogram, gauge, counter = registry.histogram, registry.gauge, registry.counter
        self.sync = histogram(f"{name}_duration_seconds", "SyncProxyRules latency in seconds", (FAMILY,), _SYNC)
        self.full = histogram(
            "kubeproxy_sync_full_proxy_rules_duration_seconds",
            "SyncProxyRules latency in seconds for full resyncs",
            (FAMILY,),
            _SYNC,
        )
        self.partial = histogram(
            "kubeproxy_sync_partial_proxy_rules_duration_seconds",
            "SyncProxyRules latency in seconds for partial resyncs",
            (FAMILY,),
            _SYNC,
        )
        self.last = gauge(f"{name}_last_timestamp_seconds", "The last time proxy rules were successfully synced", (FAMILY,))
        queued = "The last time a sync of proxy rules was queued"
        self.queued = gauge(f"{name}_last_queued_timestamp_seconds", queued, (FAMILY,))
        self.programming = histogram(
            "kubeproxy_network_programming_duration_seconds",
            "In Cluster Network Programming Latency in seconds",
            (FAMILY,),
            _PROGRAMMING,
        )
        self.changes = {
            what: (
                gauge(f"{name}_{what}_changes_pending", f"Pending proxy rules {what.capitalize()} changes", (FAMILY,)),
                counter(f"{name}_{what}_changes_total", f"Cumulative proxy rules {what.capitalize()} changes", (FAMILY,)),
            )
            for what in ("service", "endpoint")
        }
        nobody = "Number of services with a Local traffic policy and no endpoints"
        self.nobody_local = gauge(f"{name}_no_local_endpoints_total", nobody, ("traffic_policy", FAMILY))
        self.healthz = counter("kubeproxy_proxy_healthz_total", "Cumulative proxy healthz HTTP status", ("code",))
        self.livez = counter("kubeproxy_proxy_livez_total", "Cumulative proxy livez HTTP status", ("code",))
        self.failures = {}
        if mode == "nftables":
            failed = "Cumulative proxy nftables sync failures"
            self.failures = {each: counter(f"{name}_nftables_sync_failures_total", failed, (FAMILY,)) for each in (True, False)}
        if mode == "iptables":
            failed, partly = "Cumulative proxy iptables restore failures", "Cumulative proxy iptables partial restore failures"
            self.failures = {
                True: counter(f"{name}_iptables_restore_failures_total", failed, (FAMILY,)),
                False: counter(f"{name}_iptables_partial_restore_failures_total", partly, (FAMILY,)),
            }
            self.rules = gauge(
                f"{name}_iptables_total", "Total number of iptables rules owned by kube-proxy", ("table", FAMILY)
            )

    def noted(self, what: str) -> None:
        """A Service or a slice has changed."""
        pending, total = self.changes[what]
        for family in ("IPv4", "IPv6"):
            pending.labels(family).inc()
            total.labels(family).inc()

    def wrote(self, family: str, seconds: float, now: float, *, fully: bool) -> None:
        self.sync.labels(family).observe(seconds)
        (self.full if fully else self.partial).labels(family).observe(seconds)
        self.last.labels(family).set(now)

    def up_to_date(self, changed_at: Iterable[float], now: float) -> None:
        """`changed_at`: when what the kernel has now was changed, as the objects tell."""
        took = [max(now - each, 0.0) for each in changed_at]
        for family in ("IPv4", "IPv6"):
            for pending, _ in self.changes.values():
                pending.labels(family).set(0)
            for seconds in took:
                self.programming.labels(family).observe(seconds)

    def failed(self, family: str, *, fully: bool) -> None:
        for each in {self.failures[fully], self.failures[True]} if self.failures else ():
            each.labels(family).inc()

    def counts(self, family: str, ledger: Ledger) -> None:
        """What can be counted of the rules when somebody asks."""
        if self._mode == "iptables":
            for table in ("nat", "filter"):
                self.rules.labels(table, family).set(ledger.count(table + " "))
