"""The admission plugins of this server: one literal list, in upstream's order, which is the order in which they run.

Those that must see an object as it will be stored come last: policies, webhooks, quota.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tiphys.apiserver.admission.always import AlwaysAdmit, AlwaysDeny
from tiphys.apiserver.admission.always_pull_images import AlwaysPullImages
from tiphys.apiserver.admission.certificate_approval import CertificateApproval
from tiphys.apiserver.admission.certificate_signing import CertificateSigning
from tiphys.apiserver.admission.certificate_subject_restriction import CertificateSubjectRestriction
from tiphys.apiserver.admission.chain import Plugin
from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.default_ingress_class import DefaultIngressClass
from tiphys.apiserver.admission.default_storage_class import DefaultStorageClass
from tiphys.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from tiphys.apiserver.admission.deny_service_external_ips import DenyServiceExternalIPs
from tiphys.apiserver.admission.event_rate_limit import EventRateLimit
from tiphys.apiserver.admission.extended_resource_toleration import ExtendedResourceToleration
from tiphys.apiserver.admission.image_policy_webhook import ImagePolicyWebhook
from tiphys.apiserver.admission.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from tiphys.apiserver.admission.limit_ranger import LimitRanger
from tiphys.apiserver.admission.namespace_auto_provision import NamespaceAutoProvision
from tiphys.apiserver.admission.namespace_exists import NamespaceExists
from tiphys.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from tiphys.apiserver.admission.node_declared_feature_validator import NodeDeclaredFeatureValidator
from tiphys.apiserver.admission.node_restriction import NodeRestriction
from tiphys.apiserver.admission.owner_references_permission_enforcement import OwnerReferencesPermissionEnforcement
from tiphys.apiserver.admission.persistent_volume_claim_resize import PersistentVolumeClaimResize
from tiphys.apiserver.admission.pod_node_selector import PodNodeSelector
from tiphys.apiserver.admission.pod_resize_validator import PodResizeValidator
from tiphys.apiserver.admission.pod_security import PodSecurity
from tiphys.apiserver.admission.pod_toleration_restriction import PodTolerationRestriction
from tiphys.apiserver.admission.pod_topology_labels import PodTopologyLabels
from tiphys.apiserver.admission.priority import Priority
from tiphys.apiserver.admission.privileged import NoPrivileges
from tiphys.apiserver.admission.resource_quota import ResourceQuota
from tiphys.apiserver.admission.runtime_class import RuntimeClass
from tiphys.apiserver.admission.service_account import ServiceAccount
from tiphys.apiserver.admission.storage_object_in_use_protection import StorageObjectInUseProtection
from tiphys.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from tiphys.apiserver.authn.review_client import ReviewClient
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.catalogue import Catalogue
from tiphys.apiserver.lookup import Lookup
from tiphys.base.clock import Clock
from tiphys.machinery.feature_gates import TOPOLOGY_LABELS, FeatureGates
from tiphys.store.interface import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """What plugins are made of."""

    store: Store
    lookup: Lookup
    choose: Callable[[Sequence[str]], str]
    new_uid: Callable[[], str]
    authorizer: Authorizer
    catalogue: Catalogue
    configuration: Configuration
    clock: Clock


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """`--enable-admission-plugins`, `--disable-admission-plugins`, and what their file says."""

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    configuration: Configuration = field(default_factory=Configuration)
    allow_privileged: bool = True
    gates: FeatureGates = field(default_factory=FeatureGates)

    def __post_init__(self) -> None:
        """Raises UnusablePlugins."""
        select(self.enabled, self.disabled)
        if "ImagePolicyWebhook" in self.enabled and self.configuration.image_policy is None:
            raise UnusablePlugins(
                'failed to initialize admission: couldn\'t init admission plugin "ImagePolicyWebhook": no config specified'
            )


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    make: Callable[[Parts], Plugin]
    on: bool = True
    """Whether it runs unless it is disabled."""


def _image_policy_webhook(parts: Parts) -> ImagePolicyWebhook:
    policy = parts.configuration.image_policy
    assert policy is not None, "settings without it are refused"
    client = ReviewClient(policy.access, parts.clock, first_pause=policy.first_pause)
    return ImagePolicyWebhook(client.ask, policy)


ORDER = (
    Entry("AlwaysAdmit", lambda _: AlwaysAdmit(), on=False),
    Entry("NamespaceAutoProvision", lambda parts: NamespaceAutoProvision(parts.store, parts.lookup, parts.new_uid), on=False),
    Entry("NamespaceLifecycle", lambda parts: NamespaceLifecycle(parts.lookup)),
    Entry("NamespaceExists", lambda parts: NamespaceExists(parts.lookup), on=False),
    Entry("LimitPodHardAntiAffinityTopology", lambda _: LimitPodHardAntiAffinityTopology(), on=False),
    Entry("LimitRanger", lambda parts: LimitRanger(parts.lookup)),
    Entry("ServiceAccount", lambda parts: ServiceAccount(parts.lookup, parts.choose)),
    Entry("NodeRestriction", lambda parts: NodeRestriction(parts.lookup, parts.authorizer), on=False),
    Entry("TaintNodesByCondition", lambda _: TaintNodesByCondition()),
    Entry("AlwaysPullImages", lambda _: AlwaysPullImages(), on=False),
    Entry("ImagePolicyWebhook", lambda parts: _image_policy_webhook(parts), on=False),
    Entry("PodSecurity", lambda parts: PodSecurity(parts.store, parts.lookup, parts.configuration.pod_security)),
    Entry("PodNodeSelector", lambda parts: PodNodeSelector(parts.lookup, parts.configuration.node_selectors), on=False),
    Entry("Priority", lambda parts: Priority(parts.lookup)),
    Entry("DefaultTolerationSeconds", lambda parts: DefaultTolerationSeconds(*parts.configuration.toleration_seconds)),
    Entry(
        "PodTolerationRestriction",
        lambda parts: PodTolerationRestriction(parts.lookup, *parts.configuration.tolerations),
        on=False,
    ),
    Entry("EventRateLimit", lambda parts: EventRateLimit(parts.configuration.event_limits), on=False),
    Entry("ExtendedResourceToleration", lambda _: ExtendedResourceToleration(), on=False),
    Entry("DefaultStorageClass", lambda parts: DefaultStorageClass(parts.lookup)),
    Entry("StorageObjectInUseProtection", lambda _: StorageObjectInUseProtection()),
    Entry(
        "OwnerReferencesPermissionEnforcement",
        lambda parts: OwnerReferencesPermissionEnforcement(parts.authorizer, parts.catalogue),
        on=False,
    ),
    Entry("PersistentVolumeClaimResize", lambda parts: PersistentVolumeClaimResize(parts.lookup)),
    Entry("RuntimeClass", lambda parts: RuntimeClass(parts.lookup)),
    Entry("CertificateApproval", lambda parts: CertificateApproval(parts.authorizer)),
    Entry("CertificateSigning", lambda parts: CertificateSigning(parts.authorizer)),
    Entry("CertificateSubjectRestriction", lambda _: CertificateSubjectRestriction()),
    Entry("DefaultIngressClass", lambda parts: DefaultIngressClass(parts.lookup)),
    Entry("DenyServiceExternalIPs", lambda _: DenyServiceExternalIPs(), on=False),
    Entry("PodTopologyLabels", lambda parts: PodTopologyLabels(parts.lookup)),
    Entry("NodeDeclaredFeatureValidator", lambda parts: NodeDeclaredFeatureValidator(parts.lookup)),
    Entry("PodResizeValidator", lambda parts: PodResizeValidator(parts.lookup)),
    # MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy and ValidatingAdmissionWebhook run here.
    Entry("ResourceQuota", lambda parts: ResourceQuota(parts.store)),
    Entry("AlwaysDeny", lambda _: AlwaysDeny(), on=False),
)

BEHIND_GATES = {"PodTopologyLabels": TOPOLOGY_LABELS}
"""Plugins that have nothing to do while their feature gate is off."""
NAMES = frozenset(each.name for each in ORDER)
IDLE = frozenset(("ClusterTrustBundleAttest", "JobValidation", "PodGroupProtection", "PodGroupWorkloadExists"))
"""Default ones of upstream that may be named and have nothing to do: what they judge is served behind feature gates only."""


class UnusablePlugins(ValueError):
    """The message says which and why, in upstream's words."""


def select(enabled: Iterable[str] = (), disabled: Iterable[str] = ()) -> list[Entry]:
    """Raises UnusablePlugins."""
    wanted, unwanted = set(enabled), set(disabled)
    for names, flag in ((wanted, "enable-admission-plugins"), (unwanted, "disable-admission-plugins")):
        if unknown := sorted(names - NAMES - IDLE):
            raise UnusablePlugins(", ".join(f'{flag} plugin "{each}" is unknown' for each in unknown))
    if both := sorted(wanted & unwanted):
        raise UnusablePlugins(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    return [each for each in ORDER if each.name in wanted or (each.on and each.name not in unwanted)]


def plugins(parts: Parts, settings: AdmissionSettings) -> list[Plugin]:
    gated = {plugin for plugin, gate in BEHIND_GATES.items() if not settings.gates.on(gate)}
    chosen = [each.make(parts) for each in select(settings.enabled, settings.disabled) if each.name not in gated]
    return chosen if settings.allow_privileged else [*chosen, NoPrivileges()]
