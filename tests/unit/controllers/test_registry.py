"""Which controllers run. v1.36.4 cmd/kube-controller-manager/app/options: --controllers."""

import pytest

from tiphys.controllers.names import ABSENT, ALIASES
from tiphys.controllers.registry import CONDITIONAL, Settings, chosen, controllers


def names(wanted):
    return {each.name for each in chosen(controllers(Settings("certificate")), wanted)}


def test_all_some_and_all_but_some():
    every = names("*")
    assert {"job-controller", "garbage-collector-controller", "root-ca-certificate-publisher-controller"} <= every
    assert names("*,-job-controller") == every - {"job-controller"}
    assert names("job-controller, namespace-controller") == {"job-controller", "namespace-controller"}


def test_some_are_off_unless_they_are_asked_for():
    # v1.36.4 cmd/kube-controller-manager/app/bootstrap.go: isDisabledByDefault
    both = {"bootstrap-signer-controller", "token-cleaner-controller"}
    assert not names("*") & both
    assert names("*,bootstrapsigner,tokencleaner") == names("*") | both
    assert "certificatesigningrequest-approving-controller" not in names("*,-csrapproving")


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(ValueError, match="there is no controller jobs; there are "):
        names("*,-jobs")


def test_names_are_upstreams_and_their_own():
    listed = [each.name for each in controllers(Settings("certificate"))]
    assert len(listed) == len(set(listed))
    assert all(name.endswith("-controller") for name in listed)


# v1.36.4 cmd/kube-controller-manager/names/controller_names.go, and `aliases` in cmd/kube-controller-manager/app.
UPSTREAMS = """
bootstrap-signer certificatesigningrequest-approving certificatesigningrequest-cleaner certificatesigningrequest-signing
cloud-node-lifecycle clusterrole-aggregation cronjob daemonset deployment device-taint-eviction disruption endpoints
endpointslice endpointslice-mirroring ephemeral-volume garbage-collector horizontal-pod-autoscaler job
kube-apiserver-serving-clustertrustbundle-publisher legacy-serviceaccount-token-cleaner namespace node-ipam node-lifecycle
node-route persistentvolume-attach-detach persistentvolume-binder persistentvolume-expander persistentvolume-protection
persistentvolumeclaim-protection pod-garbage-collector podcertificaterequest-cleaner podgroup-protection replicaset
replicationcontroller resourceclaim resourcepoolstatusrequest resourcequota root-ca-certificate-publisher selinux-warning
service-cidr service-lb serviceaccount serviceaccount-token statefulset storage-version-migrator
storageversion-garbage-collector taint-eviction token-cleaner ttl-after-finished ttl validatingadmissionpolicy-status
volumeattributesclass-protection
"""


OUR_OWN = {"node-endpoints-controller"}


def test_every_name_of_upstreams_is_known():
    listed = {f"{name}-controller" for name in UPSTREAMS.split()}
    names(",".join(f"-{name}" for name in sorted(listed)))
    ours = {each.name for each in controllers(Settings("certificate", account_token=lambda _account, _secret: ""))}
    assert (ours - OUR_OWN) | CONDITIONAL | ABSENT == listed
    assert not ours & ABSENT
    assert set(ALIASES.values()) <= listed


def test_older_names_mean_the_same():
    assert names("deployment,podgc,persistentvolume-binder") == {"deployment-controller", "pod-garbage-collector-controller"}


def test_what_is_switched_off_is_not_there():
    every = {each.name for each in controllers(Settings(collect_garbage=False))}
    assert not every & {"garbage-collector-controller", "serviceaccount-token-controller"}
