"""The APIServices of the groups that this server answers itself, and in which order groups and versions are offered."""

from collections.abc import Iterable

from tiphys.machinery.tree import Obj

API_VERSION = "apiregistration.k8s.io/v1"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"

# Priority of the group, and of its version where that is not the usual one.
_GROUPS = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    # As metrics-server registers itself.
    "metrics.k8s.io": 100,
}
_VERSIONS = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 21,
    ("metrics.k8s.io", "v1beta1"): 100,
}
_USUAL_VERSION = 15


def _available(now: str) -> Obj:
    told = {"reason": "Local", "message": "Local APIServices are always available"}
    return {"conditions": [{"type": "Available", "status": "True", "lastTransitionTime": now, **told}]}


def api_service(group: str, version: str, now: str) -> Obj:
    spec: Obj = {"version": version}
    if group:
        spec["group"] = group
    spec["groupPriorityMinimum"] = _GROUPS[group]
    spec["versionPriority"] = _VERSIONS.get((group, version), _USUAL_VERSION)
    return {
        "apiVersion": API_VERSION,
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}", "labels": {AUTOMANAGED: "onstart"}},
        "spec": spec,
        "status": _available(now),
    }


def api_services(versions: Iterable[tuple[str, str]], now: str) -> list[Obj]:
    """For the (group, version) pairs of the registry; the aggregator's own group has none."""
    return [api_service(group, version, now) for group, version in versions if group in _GROUPS]
