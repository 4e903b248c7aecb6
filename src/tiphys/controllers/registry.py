"""The one list of controllers, in the order in which they are started."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tiphys.api.ip import Network
from tiphys.controllers.account_tokens import AccountTokens, Issue
from tiphys.controllers.attributes_class_protection import AttributesClassProtectionController
from tiphys.controllers.autoscaler import AutoscalerSettings, HorizontalPodAutoscalerController
from tiphys.controllers.bootstrap_signer import BootstrapSigner
from tiphys.controllers.certificates import Authority, RequestApproving, RequestCleaning, RequestSigning
from tiphys.controllers.certificates.signing import YEAR
from tiphys.controllers.cluster_role_aggregation import ClusterRoleAggregation
from tiphys.controllers.controller import Controller
from tiphys.controllers.cronjob import CronJobController
from tiphys.controllers.daemonset import DaemonSetController
from tiphys.controllers.deployment import DeploymentController
from tiphys.controllers.device_taint_eviction import DeviceTaintEviction
from tiphys.controllers.disruption import DisruptionController
from tiphys.controllers.endpoints import EndpointsController, EndpointSliceMirroring
from tiphys.controllers.endpointslice import EndpointSliceController
from tiphys.controllers.ephemeral_volume import EphemeralVolumeController
from tiphys.controllers.garbage_collector import GarbageCollector
from tiphys.controllers.job import JobController
from tiphys.controllers.legacy_tokens import YEAR as UNUSED_YEAR
from tiphys.controllers.legacy_tokens import LegacyTokens
from tiphys.controllers.names import ABSENT, ALIASES
from tiphys.controllers.namespace import NamespaceController
from tiphys.controllers.node_endpoints import NodeEndpointsController
from tiphys.controllers.node_ipam import NodeIpam, Range
from tiphys.controllers.node_lifecycle import NodeLifecycleController, NodeLifecycleSettings
from tiphys.controllers.node_ttl import NodeTtlController
from tiphys.controllers.pod_gc import KEPT, PodGarbageCollector
from tiphys.controllers.replicaset import ReplicaSetController, replication_controllers
from tiphys.controllers.resource_claim import ResourceClaimController
from tiphys.controllers.resource_quota import ResourceQuotaController
from tiphys.controllers.root_ca import RootCaPublisher
from tiphys.controllers.service_account import ServiceAccountController
from tiphys.controllers.service_cidr import ServiceCidrController
from tiphys.controllers.service_lb import ServiceLoadBalancers
from tiphys.controllers.statefulset import StatefulSetController
from tiphys.controllers.taint_eviction import TaintEvictionController
from tiphys.controllers.token_cleaner import TokenCleaner
from tiphys.controllers.ttl_after_finished import TtlAfterFinished
from tiphys.controllers.volume_protection import ClaimProtectionController, VolumeProtectionController

OFF_BY_DEFAULT = frozenset((BootstrapSigner.name, NodeEndpointsController.name, ServiceLoadBalancers.name, TokenCleaner.name))
"""`*` does not mean these: they must be asked for by name."""

CONDITIONAL = frozenset((AccountTokens.name, NodeIpam.name, RootCaPublisher.name, RequestSigning.name))
"""They work only with what they must be given; asking for one without that is no mistake."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What controllers must be told."""

    root_ca: str = ""
    """PEM; without it nothing is published."""
    signing: Mapping[str, Authority] = field(default_factory=dict)
    """By signer name: what certificate requests are signed with. May change while controllers run."""
    signing_duration: float = YEAR
    """Seconds that a certificate lives at most."""
    pod_ranges: tuple[Range, ...] = ()
    """The cluster's pod addresses, of which each node gets its part; without them nodes get none."""
    service_ranges: tuple[Network, ...] = ()
    """Which are not for pods, even where they lie within the above."""
    account_token: Issue | None = None
    """Signs tokens for service accounts; without it, Secrets for them stay empty."""
    unused_tokens_stay: float = UNUSED_YEAR
    """Seconds, for tokens that nobody made by hand."""
    finished_pods_kept: int = KEPT
    """Of those that nobody deletes; no limit if zero."""
    collect_garbage: bool = True
    workers: Mapping[str, int] = field(default_factory=dict)
    """By name of a controller: how many keys it works on at a time, where that is told."""
    autoscaler: AutoscalerSettings = field(default_factory=AutoscalerSettings)
    nodes: NodeLifecycleSettings = field(default_factory=NodeLifecycleSettings)
    serial: Callable[[], int] = lambda: 1
    """A number that no certificate had before."""


def controllers(settings: Settings) -> list[Controller[Any]]:
    every: list[Controller[Any]] = [
        NamespaceController(),
        ServiceAccountController(),
        LegacyTokens(settings.unused_tokens_stay),
        ReplicaSetController(),
        replication_controllers(),
        DeploymentController(),
        StatefulSetController(),
        DaemonSetController(),
        DisruptionController(),
        HorizontalPodAutoscalerController(settings.autoscaler),
        EndpointsController(),
        EndpointSliceController(),
        EndpointSliceMirroring(),
        ServiceCidrController(),
        ServiceLoadBalancers(),
        JobController(),
        CronJobController(),
        ResourceQuotaController(),
        ClusterRoleAggregation(),
        TtlAfterFinished(),
        PodGarbageCollector(settings.finished_pods_kept),
        NodeLifecycleController(settings.nodes),
        NodeEndpointsController(),
        NodeTtlController(),
        TaintEvictionController(),
        EphemeralVolumeController(),
        ResourceClaimController(),
        DeviceTaintEviction(),
        ClaimProtectionController(),
        VolumeProtectionController(),
        AttributesClassProtectionController(),
        RequestApproving(),
        RequestCleaning(),
        BootstrapSigner(),
        TokenCleaner(),
    ]
    if settings.account_token is not None:
        every.append(AccountTokens(settings.account_token, settings.root_ca))
    if settings.signing:
        every.append(RequestSigning(settings.signing, settings.serial, settings.signing_duration))
    if settings.root_ca:
        every.append(RootCaPublisher(settings.root_ca))
    if settings.pod_ranges:
        every.append(NodeIpam(settings.pod_ranges, settings.service_ranges))
    if settings.collect_garbage:
        # Last, since it takes what others have of each kind.
        every.append(GarbageCollector())
    return every


def chosen(every: Iterable[Controller[Any]], wanted: str) -> list[Controller[Any]]:
    """As `--controllers` says: `*` all that are on by default, `name` this one, `-name` not this one. ValueError for a name
    nobody has."""
    listed = list(every)
    names = {each.name for each in listed}
    asked = [_canonical(each.strip()) for each in wanted.split(",") if each.strip()]
    known = names | CONDITIONAL | ABSENT
    unknown = sorted(name for each in asked if (name := each.removeprefix("-")) != "*" and name not in known)
    if unknown:
        raise ValueError(f"there is no controller {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    named = {each.name for each in listed if each.name in asked or ("*" in asked and each.name not in OFF_BY_DEFAULT)}
    return [each for each in listed if each.name in named and f"-{each.name}" not in asked]


def _canonical(word: str) -> str:
    sign, name = ("-", word[1:]) if word.startswith("-") else ("", word)
    return sign + ALIASES.get(name, name)
