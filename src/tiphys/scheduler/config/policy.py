"""Policy files name predicates and priorities as schedulers did before they had plugins; each name means some of the plugins.

What is not named does not run, except what keeps pods off nodes that are cordoned or tainted, which always did, and what gives
claims their devices, without which a pod cannot start. A file that has no list of predicates, or of priorities, keeps the
default ones. Priorities are known without the word at their end, too. The tables are upstream's last ones
(v1.22 pkg/scheduler/framework/plugins/legacy_registry.go), with the plugins that do the same today.
"""

from typing import Final

from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.reading import GROUP_VERSION, KIND, BadConfiguration

_GENERAL: Final = ("NodeName", "NodePorts", "NodeAffinity", "NodeResourcesFit")
_CSI: Final = ("NodeVolumeLimits",)
_TAINTS: Final = ("TaintToleration",)
PREDICATES: Final[dict[str, tuple[str, ...]]] = {
    "GeneralPredicates": _GENERAL,
    "PodFitsPorts": ("NodePorts",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsResources": ("NodeResourcesFit",),
    "HostName": ("NodeName",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodToleratesNodeTaints": _TAINTS,
    "PodToleratesNodeNoExecuteTaints": _TAINTS,
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    # Nodes under pressure carry taints today.
    "CheckNodeCondition": _TAINTS,
    "CheckNodeMemoryPressure": _TAINTS,
    "CheckNodeDiskPressure": _TAINTS,
    "CheckNodePIDPressure": _TAINTS,
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "NoVolumeNodeConflict": ("VolumeBinding",),
    "CheckVolumeBinding": ("VolumeBinding",),
    # Volumes in the tree count as those of the CSI drivers that took them over.
    "MaxCSIVolumeCountPred": _CSI,
    "MaxEBSVolumeCount": _CSI,
    "MaxGCEPDVolumeCount": _CSI,
    "MaxAzureDiskVolumeCount": _CSI,
    "MaxCinderVolumeCount": _CSI,
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "EvenPodsSpread": ("PodTopologySpread",),
}
PRIORITIES: Final[dict[str, str]] = {
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "SelectorSpreadPriority": "SelectorSpread",
    "ServiceSpreadingPriority": "ServiceSpreading",
    "InterPodAffinityPriority": "InterPodAffinity",
    "NodeAffinityPriority": "NodeAffinity",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    "EvenPodsSpreadPriority": "PodTopologySpread",
}
ALIKE: Final = "EqualPriority"
"""All nodes are as good as each other."""
_ALWAYS: Final = ("NodeUnschedulable", "TaintToleration", "DynamicResources")
_ORDER: Final = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeLabel",
)
_NARROWING: Final = ("NodeAffinity", "VolumeRestrictions", "VolumeBinding", "VolumeZone")
_LABELS: Final = "labelsPresence"


def configuration(policy: Obj) -> Obj:
    """A KubeSchedulerConfiguration that does what the policy says."""
    plugins: Obj = {}
    arguments: list[Obj] = []
    if policy.get("predicates") is not None:
        filters = _filters(policy["predicates"], arguments)
        plugins["filter"] = {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in filters]}
        narrowing = [name for name in _NARROWING if name not in filters]
        plugins["preFilter"] = {"disabled": [{"name": name} for name in narrowing]}
    if policy.get("priorities") is not None:
        scores = _scores(policy["priorities"], arguments)
        enabled = [{"name": name, "weight": weight} for name, weight in scores.items()]
        plugins["score"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if policy.get("hardPodAffinitySymmetricWeight"):
        weight = policy["hardPodAffinitySymmetricWeight"]
        arguments.append({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}})
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "profiles": [{"plugins": plugins, "pluginConfig": arguments}],
        "extenders": policy.get("extenders") or [],
    }


def _filters(predicates: list[Obj], arguments: list[Obj]) -> list[str]:
    wanted = set(_ALWAYS)
    present: list[str] = []
    absent: list[str] = []
    for each in predicates:
        name, argument = each.get("name", ""), (each.get("argument") or {}).get(_LABELS)
        if argument is not None:
            (present if argument.get("presence") else absent).extend(argument.get("labels") or ())
            wanted.add("NodeLabel")
        elif name in PREDICATES:
            wanted.update(PREDICATES[name])
        else:
            raise BadConfiguration(f"Invalid configuration: Predicate type not found for {name}")
    if "NodeLabel" in wanted:
        arguments.append({"name": "NodeLabel", "args": {"presentLabels": present, "absentLabels": absent}})
    return [name for name in _ORDER if name in wanted]


def _plugin_of(priority: str) -> str | None:
    return PRIORITIES.get(priority) or PRIORITIES.get(f"{priority}Priority")


def _scores(priorities: list[Obj], arguments: list[Obj]) -> dict[str, int]:
    """Plugins with their weights; where several names mean one plugin, the weights add up."""
    found: dict[str, int] = {}
    for each in priorities:
        name, weight = each.get("name", ""), each.get("weight") or 0
        if name == ALIKE:
            continue
        if weight <= 0:
            raise BadConfiguration(f"priority for {name} should have a positive weight applied to it or it has overflown")
        argument = (each.get("argument") or {}).get("requestedToCapacityRatioArguments")
        plugin = "RequestedToCapacityRatio" if argument is not None else _plugin_of(name)
        if plugin is None:
            raise BadConfiguration(f"Invalid configuration: Priority type not found for {name}")
        if plugin == "RequestedToCapacityRatio":
            arguments.append({"name": plugin, "args": argument or {}})
        found[plugin] = found.get(plugin, 0) + weight
    return found
