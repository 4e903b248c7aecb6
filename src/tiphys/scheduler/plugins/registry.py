"""The plugins that there are, by name, and how each is made. Which of them run is for `config.plugin_sets` to say."""

from collections.abc import Callable
from typing import Final

from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.framework import Plugin
from tiphys.scheduler.plugins.dynamic_resources import DynamicResources
from tiphys.scheduler.plugins.image_locality import ImageLocality
from tiphys.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tiphys.scheduler.plugins.node_affinity import NodeAffinity
from tiphys.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from tiphys.scheduler.plugins.node_label import NodeLabel
from tiphys.scheduler.plugins.node_name import NodeName
from tiphys.scheduler.plugins.node_ports import NodePorts
from tiphys.scheduler.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from tiphys.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from tiphys.scheduler.plugins.node_resources_fit import NodeResourcesFit
from tiphys.scheduler.plugins.node_unschedulable import NodeUnschedulable
from tiphys.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from tiphys.scheduler.plugins.pod_topology_spread import PodTopologySpread
from tiphys.scheduler.plugins.resource_scoring import NodeResourcesScore, strategy
from tiphys.scheduler.plugins.scheduling_gates import SchedulingGates
from tiphys.scheduler.plugins.selector_spread import SelectorSpread, ServiceSpreading
from tiphys.scheduler.plugins.taint_toleration import TaintToleration
from tiphys.scheduler.plugins.volume_binding import VolumeBinding
from tiphys.scheduler.plugins.volume_restrictions import VolumeRestrictions
from tiphys.scheduler.plugins.volume_zone import VolumeZone

Maker = Callable[[Cluster, Obj], Plugin]
"""From what is known of the cluster and the arguments in the configuration."""

MAKERS: Final[dict[str, Maker]] = {
    "SchedulingGates": lambda _, __: SchedulingGates(),
    "NodeUnschedulable": lambda _, __: NodeUnschedulable(),
    "NodeName": lambda _, __: NodeName(),
    "TaintToleration": lambda _, __: TaintToleration(),
    "NodeAffinity": lambda _, args: NodeAffinity(args),
    "NodePorts": lambda _, __: NodePorts(),
    "NodeResourcesFit": lambda cluster, args: NodeResourcesFit(args, cluster),
    "VolumeRestrictions": lambda cluster, _: VolumeRestrictions(cluster),
    "NodeVolumeLimits": lambda cluster, _: NodeVolumeLimits(cluster),
    "VolumeBinding": lambda cluster, _: VolumeBinding(cluster),
    "VolumeZone": lambda cluster, _: VolumeZone(cluster),
    "PodTopologySpread": PodTopologySpread,
    "InterPodAffinity": InterPodAffinity,
    "DynamicResources": DynamicResources,
    "NodeResourcesBalancedAllocation": lambda cluster, args: NodeResourcesBalancedAllocation(args, cluster),
    "ImageLocality": lambda _, __: ImageLocality(),
    "NodeDeclaredFeatures": lambda _, __: NodeDeclaredFeatures(),
    # Those below run only where a configuration, or a policy, names them.
    "SelectorSpread": lambda cluster, _: SelectorSpread(cluster),
    "ServiceSpreading": lambda cluster, _: ServiceSpreading(cluster),
    "NodePreferAvoidPods": lambda _, __: NodePreferAvoidPods(),
    "NodeLabel": lambda _, args: NodeLabel(args),
    "NodeResourcesLeastAllocated": lambda _, args: _resources("NodeResourcesLeastAllocated", "LeastAllocated", args),
    "NodeResourcesMostAllocated": lambda _, args: _resources("NodeResourcesMostAllocated", "MostAllocated", args),
    "RequestedToCapacityRatio": lambda _, args: _resources("RequestedToCapacityRatio", "RequestedToCapacityRatio", args),
}


def _resources(name: str, kind: str, args: Obj) -> NodeResourcesScore:
    """A curve that is not given prefers empty nodes."""
    shape = args.get("shape") or [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    given = {"type": kind, "resources": args.get("resources"), "requestedToCapacityRatio": {"shape": shape}}
    return NodeResourcesScore(name, strategy(given))
