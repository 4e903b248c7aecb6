"""Flags that say how fast and how far controllers go: periods, rates, bounds, and how many keys each works on at a time."""

import argparse
from pathlib import Path

from tiphys.cmd.flags import Switch
from tiphys.cmd.token_command import duration
from tiphys.controllers.autoscaler import AutoscalerSettings
from tiphys.controllers.legacy_tokens import YEAR
from tiphys.controllers.node_lifecycle import NodeLifecycleSettings
from tiphys.controllers.pod_gc import KEPT
from tiphys.controllers.runner import WORKERS

CONCURRENT = {
    "cron-job": "cronjob-controller",
    "daemonset": "daemonset-controller",
    "deployment": "deployment-controller",
    "device-taint-eviction": "device-taint-eviction-controller",
    "endpoint": "endpoints-controller",
    "ephemeralvolume": "ephemeral-volume-controller",
    "gc": "garbage-collector-controller",
    "horizontal-pod-autoscaler": "horizontal-pod-autoscaler-controller",
    "job": "job-controller",
    "namespace": "namespace-controller",
    "rc": "replicationcontroller-controller",
    "replicaset": "replicaset-controller",
    "resource-quota": "resourcequota-controller",
    "resourceclaim": "resourceclaim-controller",
    "service": "service-lb-controller",
    "service-endpoint": "endpointslice-controller",
    "serviceaccount-token": "serviceaccount-token-controller",
    "statefulset": "statefulset-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
}
"""The middle of the flag that says how many keys a controller works on at a time."""

_NODES, _AUTOSCALER = NodeLifecycleSettings(), AutoscalerSettings()


def add_to(parser: argparse.ArgumentParser) -> None:
    _add_nodes(parser)
    _add_autoscaler(parser)
    add = parser.add_argument
    add(
        "--terminated-pod-gc-threshold",
        type=int,
        default=KEPT,
        metavar="N",
        help="so many finished pods may lie about; 0: any number (default: %(default)s)",
    )
    add(
        "--enable-garbage-collector",
        action=Switch,
        default=True,
        help="delete what all owners of are gone (default: %(default)s)",
    )
    add(
        "--service-account-private-key-file",
        type=Path,
        metavar="F",
        help="signs tokens for Secrets of type kubernetes.io/service-account-token; without one they stay empty",
    )
    add(
        "--legacy-service-account-token-clean-up-period",
        type=duration,
        default=YEAR,
        metavar="D",
        help="tokens that were made by themselves and lie unused for so long go (default: 8760h0m0s)",
    )
    for middle, name in CONCURRENT.items():
        flag = f"--concurrent-{middle}-syncs"
        add(flag, type=int, default=WORKERS, metavar="N", help=f"keys that {name} works on at a time (default: %(default)s)")
    mirroring = "--mirroring-concurrent-service-endpoint-syncs"
    add(mirroring, type=int, default=WORKERS, metavar="N", help="the same of endpointslice-mirroring-controller")


def _add_nodes(parser: argparse.ArgumentParser) -> None:
    def add(flag: str, default: float, help_text: str, kind: type = float) -> None:
        shown = f"{help_text} (default: {default:g})"
        parser.add_argument(flag, type=kind, default=default, metavar="N", help=shown)

    def period(flag: str, default: float, help_text: str) -> None:
        shown = f"{help_text} (default: {default:g}s)"
        parser.add_argument(flag, type=duration, default=default, metavar="D", help=shown)

    period("--node-monitor-grace-period", _NODES.grace, "so long a node may be silent before it counts as lost")
    period("--node-startup-grace-period", _NODES.startup_grace, "the same for one that has never spoken")
    period("--node-monitor-period", _NODES.monitor_period, "how often nodes that are not ready are looked at")
    add("--node-eviction-rate", _NODES.eviction_rate, "nodes a second, of a zone, that may begin to lose their pods")
    add("--secondary-node-eviction-rate", _NODES.secondary_eviction_rate, "the same in a zone that is ill")
    add("--unhealthy-zone-threshold", _NODES.unhealthy_share, "share of a zone's nodes, three or more, that makes it ill")
    add("--large-cluster-size-threshold", _NODES.large_zone, "in an ill zone of no more nodes, no pods are evicted", int)


def _add_autoscaler(parser: argparse.ArgumentParser) -> None:
    def period(name: str, default: float, help_text: str) -> None:
        shown = f"{help_text} (default: {default:g}s)"
        parser.add_argument(f"--horizontal-pod-autoscaler-{name}", type=duration, default=default, metavar="D", help=shown)

    period("sync-period", _AUTOSCALER.sync_period, "how often autoscalers look at their metrics")
    period(
        "downscale-stabilization",
        _AUTOSCALER.downscale_stabilization,
        "so far back a wish for more copies counts, where an autoscaler does not say itself",
    )
    period("cpu-initialization-period", _AUTOSCALER.cpu_initialization, "after its start a pod's CPU may not be its usual one")
    period("initial-readiness-delay", _AUTOSCALER.initial_readiness, "who became unready so soon has never been ready")
    parser.add_argument(
        "--horizontal-pod-autoscaler-tolerance",
        type=float,
        default=_AUTOSCALER.tolerance,
        metavar="N",
        help="a metric so near to its target, as a share of it, changes nothing (default: %(default)s)",
    )


def nodes(given: argparse.Namespace) -> NodeLifecycleSettings:
    return NodeLifecycleSettings(
        grace=given.node_monitor_grace_period,
        startup_grace=given.node_startup_grace_period,
        monitor_period=given.node_monitor_period,
        eviction_rate=given.node_eviction_rate,
        secondary_eviction_rate=given.secondary_node_eviction_rate,
        unhealthy_share=given.unhealthy_zone_threshold,
        large_zone=given.large_cluster_size_threshold,
    )


def autoscaler(given: argparse.Namespace) -> AutoscalerSettings:
    return AutoscalerSettings(
        sync_period=given.horizontal_pod_autoscaler_sync_period,
        downscale_stabilization=given.horizontal_pod_autoscaler_downscale_stabilization,
        tolerance=given.horizontal_pod_autoscaler_tolerance,
        cpu_initialization=given.horizontal_pod_autoscaler_cpu_initialization_period,
        initial_readiness=given.horizontal_pod_autoscaler_initial_readiness_delay,
    )


def workers(given: argparse.Namespace) -> dict[str, int]:
    """By name of a controller. Raises ValueError for a number with which nothing would be done."""
    flags = vars(given)
    found = {name: flags[f"concurrent_{middle}_syncs".replace("-", "_")] for middle, name in CONCURRENT.items()}
    found["endpointslice-mirroring-controller"] = given.mirroring_concurrent_service_endpoint_syncs
    for name, count in found.items():
        if count < 1:
            raise ValueError(f"{name} cannot work on {count} keys at a time")
    return found
