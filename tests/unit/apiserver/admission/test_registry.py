"""Which plugins run, and what their file says."""

import json

import pytest

from tiphys.apiserver.admission import configuration
from tiphys.apiserver.admission.chain import Mutating, Validating
from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.event_rate_limit import Limit
from tiphys.apiserver.admission.image_policy_webhook import ImagePolicy
from tiphys.apiserver.admission.pod_security.policy import Policy, Standard
from tiphys.apiserver.admission.registry import IDLE, NAMES, ORDER, UnusablePlugins, select
from tiphys.client.kubeconfig import Access

# pkg/kubeapiserver/options/plugins.go:66, without those that webhooks, policies and alpha features bring
UPSTREAMS_ORDER = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "ResourceQuota",
    "AlwaysDeny",
]
# plugins.go:190
ON = [
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "ResourceQuota",
]


def test_the_order_is_upstreams():
    ours = [each.name for each in ORDER]
    known = [name for name in ours if name in UPSTREAMS_ORDER]
    assert known == UPSTREAMS_ORDER


def test_the_same_plugins_are_on():
    on = [each.name for each in select()]
    assert [name for name in on if name in UPSTREAMS_ORDER] == ON


def test_plugins_are_enabled_and_disabled_by_name():
    names = {each.name for each in select(["NodeRestriction"], ["LimitRanger"])}
    assert "NodeRestriction" in names
    assert "LimitRanger" not in names


# staging/src/k8s.io/apiserver/pkg/server/options/admission.go:194
@pytest.mark.parametrize("name", sorted(IDLE))
def test_plugins_of_kinds_behind_feature_gates_may_be_named(name):
    # v1.36.4 pkg/kubeapiserver/options/plugins.go:197; each asks its gate first: plugin/pkg/admission/job/admission.go:114
    assert select([name]) == select([], [name]) == select()


@pytest.mark.parametrize(
    ("enabled", "disabled", "told"),
    [
        (["Nope"], [], 'enable-admission-plugins plugin "Nope" is unknown'),
        ([], ["Nope"], 'disable-admission-plugins plugin "Nope" is unknown'),
        (["Priority"], ["Priority"], r"\[Priority\] in enable-admission-plugins and disable-admission-plugins overlapped"),
    ],
)
def test_wrong_names_are_told(enabled, disabled, told):
    with pytest.raises(UnusablePlugins, match=told):
        select(enabled, disabled)


def test_every_plugin_goes_by_its_name_and_does_something(serve):
    policy = ImagePolicy(Access("https://images.test"), 1, 1, 1)
    for plugin in serve(enabled=NAMES, configuration=Configuration(image_policy=policy)).plugins:
        assert plugin.name in NAMES
        assert plugin.operations
        assert isinstance(plugin, Mutating | Validating)


async def test_always_deny(serve):
    status = await serve(enabled=["AlwaysDeny"]).create(
        "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    )
    assert status["message"] == 'namespaces "n" is forbidden: admission control is denying all modifications'


def read(*plugins, files=None):
    tree = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": list(plugins)}
    return configuration.read(json.dumps(tree), lambda name: (files or {})[name], Access)


def test_the_file_configures_plugins():
    security = {"defaults": {"enforce": "baseline", "enforce-version": "v1.30"}, "exemptions": {"namespaces": ["kube-system"]}}
    limits = {"limits": [{"type": "User", "qps": 5, "burst": 10}]}
    found = read(
        {"name": "PodSecurity", "configuration": security},
        {"name": "EventRateLimit", "path": "limits.yaml"},
        {"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": {"t": "a=b"}}},
        {"name": "PodTolerationRestriction", "configuration": {"default": [{"key": "a"}], "whitelist": []}},
        files={"limits.yaml": json.dumps(limits)},
    )
    assert found.pod_security.defaults == Policy(enforce=Standard("baseline", 30))
    assert found.pod_security.exemptions.namespaces == {"kube-system"}
    assert found.event_limits == (Limit("User", 5, 10),)
    assert found.node_selectors == {"t": "a=b"}
    assert found.tolerations == (({"key": "a"},), ())


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        (
            {"name": "PodSecurity", "configuration": {"defaults": {"warn": "x"}}},
            "must be one of privileged, baseline, restricted",
        ),
        ({"name": "EventRateLimit", "configuration": {"limits": []}}, "must not be empty"),
        ({"name": "EventRateLimit", "configuration": {"limits": [{"type": "X", "qps": 1, "burst": 1}]}}, "unknown type"),
        ({"name": "EventRateLimit", "configuration": {"limits": [{"type": "User", "qps": 0, "burst": 1}]}}, "must be positive"),
    ],
)
def test_a_wrong_file_is_told(plugin, told):
    with pytest.raises(configuration.Unusable, match=told):
        read(plugin)
