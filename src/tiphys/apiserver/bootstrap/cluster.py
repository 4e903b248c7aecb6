"""Namespaces, priority classes, the range of Service addresses, and what extension servers must know of authentication."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from tiphys.machinery.tree import Obj

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
SYSTEM_CRITICAL = 2_000_000_000


def namespaces() -> list[Obj]:
    return [_namespace(name) for name in NAMESPACES]


def _namespace(name: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def priority_classes() -> list[Obj]:
    node = "Used for system critical pods that must not be moved from their current node."
    cluster = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    return [
        _priority_class("system-node-critical", SYSTEM_CRITICAL + 1000, node),
        _priority_class("system-cluster-critical", SYSTEM_CRITICAL, cluster),
    ]


def _priority_class(name: str, value: int, description: str) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def service_cidr(cidrs: Sequence[str]) -> Obj:
    """The range that --service-cluster-ip-range names: one range, or one of each family."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": list(cidrs)},
    }


def service_cidr_ready(now: str) -> Obj:
    """The condition that the server itself sets on its own range."""
    return {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": now,
    }


@dataclass(frozen=True, slots=True)
class ClusterAuthentication:
    """How this server authenticates, as far as servers behind it must do the same."""

    client_ca: str = ""
    request_header_ca: str = ""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


def authentication_configmap(known: ClusterAuthentication) -> Obj:
    """kube-system/extension-apiserver-authentication."""
    data: dict[str, str] = {}
    if known.client_ca:
        data["client-ca-file"] = known.client_ca
    if known.request_header_ca:
        data["requestheader-client-ca-file"] = known.request_header_ca
        lists = (
            ("username-headers", known.username_headers),
            ("uid-headers", known.uid_headers),
            ("group-headers", known.group_headers),
            ("extra-headers-prefix", known.extra_prefixes),
            ("allowed-names", known.allowed_names),
        )
        for name, values in lists:
            if values or name != "uid-headers":
                data[f"requestheader-{name}"] = orjson.dumps(list(values)).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": data,
    }


def legacy_token_tracking(today: str) -> Obj:
    """kube-system/kube-apiserver-legacy-service-account-token-tracking: since when unused old tokens are noticed.

    `today` is a date: `2026-01-02`.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"},
        "data": {"since": today},
    }
