"""Priority levels and flow schemas that a cluster starts with: the mandatory ones, and suggestions that may be changed."""

from tiphys.api.flowcontrol.mandatory import EVERYTHING, FLOWS, GROUP, LEVELS, flow, groups
from tiphys.machinery.tree import Obj

API_VERSION = f"{GROUP}/v1"
AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"


def _limited(shares: int, lendable: int, queues: int, hand: int) -> Obj:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing}
    limited = {"nominalConcurrencyShares": shares, "limitResponse": response, "lendablePercent": lendable}
    return {"type": "Limited", "limited": limited}


def _users(*names: str) -> list[Obj]:
    return [{"kind": "User", "user": {"name": name}} for name in names]


_SYSTEM_ACCOUNTS: list[Obj] = [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "kube-system"}}]
_EVERYBODY = groups("system:unauthenticated", "system:authenticated")
_LEASES: Obj = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "namespaces": ["*"]}
_NODES: Obj = {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "clusterScope": True, "namespaces": ["*"]}
_HEALTH: Obj = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}


def _all_of(subjects: list[Obj]) -> list[Obj]:
    return [{"subjects": subjects, **EVERYTHING}]


SUGGESTED_LEVELS: dict[str, Obj] = {
    "system": _limited(30, 33, 64, 6),
    "node-high": _limited(40, 25, 64, 6),
    "leader-election": _limited(10, 0, 16, 4),
    "workload-high": _limited(40, 50, 128, 6),
    "workload-low": _limited(100, 90, 128, 6),
    "global-default": _limited(20, 50, 128, 6),
}

SUGGESTED_FLOWS: dict[str, Obj] = {
    "system-nodes": flow(500, "system", _all_of(groups("system:nodes")), "ByUser"),
    "system-node-high": flow(
        400,
        "node-high",
        [{"subjects": groups("system:nodes"), "resourceRules": [{"verbs": ["*"], **_NODES}, {"verbs": ["*"], **_LEASES}]}],
        "ByUser",
    ),
    "probes": flow(2, "exempt", [{"subjects": _EVERYBODY, "nonResourceRules": [_HEALTH]}]),
    "system-leader-election": flow(
        100,
        "leader-election",
        [
            {
                "subjects": [*_users("system:kube-controller-manager", "system:kube-scheduler"), *_SYSTEM_ACCOUNTS],
                "resourceRules": [{"verbs": ["get", "create", "update"], **_LEASES}],
            }
        ],
        "ByUser",
    ),
    "kube-controller-manager": flow(800, "workload-high", _all_of(_users("system:kube-controller-manager")), "ByNamespace"),
    "kube-scheduler": flow(800, "workload-high", _all_of(_users("system:kube-scheduler")), "ByNamespace"),
    "kube-system-service-accounts": flow(900, "workload-high", _all_of(_SYSTEM_ACCOUNTS), "ByNamespace"),
    "service-accounts": flow(9000, "workload-low", _all_of(groups("system:serviceaccounts")), "ByUser"),
    "global-default": flow(9900, "global-default", _all_of(_EVERYBODY), "ByUser"),
}


def priority_levels() -> list[Obj]:
    """Before the flow schemas that name them."""
    return [_object("PriorityLevelConfiguration", name, spec) for name, spec in {**LEVELS, **SUGGESTED_LEVELS}.items()]


def flow_schemas(now: str) -> list[Obj]:
    flows = {**FLOWS, **SUGGESTED_FLOWS}
    return [{**_object("FlowSchema", name, spec), "status": _found(spec, now)} for name, spec in flows.items()]


def _found(spec: Obj, now: str) -> Obj:
    """The level that it names is there: they are made together."""
    level = spec["priorityLevelConfiguration"]["name"]
    message = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists'
    told = {"lastTransitionTime": now, "reason": "Found", "message": message}
    return {"conditions": [{"type": "Dangling", "status": "False", **told}]}


def is_mandatory(obj: Obj) -> bool:
    return obj["metadata"]["name"] in (FLOWS if obj["kind"] == "FlowSchema" else LEVELS)


def _object(kind: str, name: str, spec: Obj) -> Obj:
    metadata = {"name": name, "annotations": {AUTOUPDATE: "true"}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec, "status": {}}
