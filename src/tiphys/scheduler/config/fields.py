"""The fields of KubeSchedulerConfiguration v1 as facts: what may stand where.

https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/. A tuple of one is a list of such things.
"""

from typing import Any, Final

Fields = dict[str, Any]

_PLUGIN: Final[Fields] = {"name": str, "weight": int}
_SET: Final[Fields] = {"enabled": (_PLUGIN,), "disabled": (_PLUGIN,)}
POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
_RESOURCE: Final[Fields] = {"name": str, "weight": int}
_SHAPE: Final = ({"utilization": int, "score": int},)
_STRATEGY: Final[Fields] = {"type": str, "resources": (_RESOURCE,), "requestedToCapacityRatio": {"shape": _SHAPE}}

ARGUMENTS: Final[dict[str, Fields]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": int, "minCandidateNodesAbsolute": int},
    "DynamicResources": {"filterTimeout": "duration", "bindingTimeout": "duration"},
    "InterPodAffinity": {"hardPodAffinityWeight": int, "ignorePreferredTermsOfExistingPods": bool},
    "NodeAffinity": {"addedAffinity": dict},
    "NodeResourcesBalancedAllocation": {"resources": (_RESOURCE,)},
    "NodeResourcesFit": {"ignoredResources": (str,), "ignoredResourceGroups": (str,), "scoringStrategy": _STRATEGY},
    "PodTopologySpread": {"defaultConstraints": (dict,), "defaultingType": str},
    "VolumeBinding": {"bindTimeoutSeconds": int, "shape": _SHAPE},
}
"""Of upstream's plugins; what others take is theirs to check."""

_EXTENDER: Final[Fields] = {
    "urlPrefix": str,
    "filterVerb": str,
    "preemptVerb": str,
    "prioritizeVerb": str,
    "weight": int,
    "bindVerb": str,
    "enableHTTPS": bool,
    "tlsConfig": {
        "insecure": bool,
        "serverName": str,
        "certFile": str,
        "keyFile": str,
        "caFile": str,
        "certData": str,
        "keyData": str,
        "caData": str,
    },
    "httpTimeout": "duration",
    "nodeCacheCapable": bool,
    "managedResources": ({"name": str, "ignoredByScheduler": bool},),
    "ignorable": bool,
}

FIELDS: Final[Fields] = {
    "parallelism": int,
    "leaderElection": {
        "leaderElect": bool,
        "leaseDuration": "duration",
        "renewDeadline": "duration",
        "retryPeriod": "duration",
        "resourceLock": str,
        "resourceName": str,
        "resourceNamespace": str,
    },
    "clientConnection": {"kubeconfig": str, "acceptContentTypes": str, "contentType": str, "qps": float, "burst": int},
    "enableProfiling": bool,
    "enableContentionProfiling": bool,
    "percentageOfNodesToScore": int,
    "podInitialBackoffSeconds": int,
    "podMaxBackoffSeconds": int,
    "profiles": (
        {
            "schedulerName": str,
            "percentageOfNodesToScore": int,
            "plugins": dict.fromkeys((*POINTS, "multiPoint", "placementGenerate", "placementScore"), _SET),
            "pluginConfig": ({"name": str, "args": dict},),
        },
    ),
    "extenders": (_EXTENDER,),
    "delayCacheUntilActive": bool,
}

_OLD: Final[Fields] = {"name": str, "argument": dict}
POLICY: Final[Fields] = {
    "predicates": (_OLD,),
    "priorities": ({**_OLD, "weight": int},),
    "extenders": (_EXTENDER,),
    "hardPodAffinitySymmetricWeight": int,
    "alwaysCheckAllPredicates": bool,
}
"""Of the Policy that came before."""
