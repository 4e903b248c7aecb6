"""The flags of the controller manager. v1.36.4 cmd/kube-controller-manager/app/certificates.go."""

import argparse

import jwt
import pytest

from tiphys.base import tls
from tiphys.cmd import controller_flags
from tiphys.cmd.data_directory import Unusable
from tiphys.controllers.autoscaler import AutoscalerSettings
from tiphys.controllers.certificates import SIGNERS
from tiphys.controllers.names import ABSENT
from tiphys.controllers.node_lifecycle import NodeLifecycleSettings
from tiphys.controllers.registry import CONDITIONAL, Settings, controllers

NOW = 1_800_000_000.0
UPSTREAMS_NAMES = {each.name for each in controllers(Settings())} | CONDITIONAL | ABSENT


@pytest.fixture
def given(tmp_path):
    for name in ("one", "two"):
        tls.save(tls.make_authority(name, now=NOW), tmp_path / f"{name}.crt", tmp_path / f"{name}.key")

    def parse(*flags):
        parser = argparse.ArgumentParser()
        controller_flags.add_to(parser)
        return controller_flags.settings(parser.parse_args([each.replace("@", str(tmp_path)) for each in flags]), b"ca")

    return parse


def signers(found):
    return {signer: authority.certificate.subject.rfc4514_string() for signer, authority in found.settings.signing.items()}


ONE = ("--cluster-signing-cert-file", "@/one.crt", "--cluster-signing-key-file", "@/one.key")


def test_one_authority_for_all_signers(given):
    assert signers(given(*ONE)) == dict.fromkeys(SIGNERS, "CN=one")


def test_without_an_authority_nothing_is_signed(given):
    assert signers(given()) == {}
    assert signers(given(*ONE[:2])) == {}


def test_a_signer_with_its_own_authority_leaves_the_others_without(given):
    files = (
        "--cluster-signing-kubelet-client-cert-file",
        "@/two.crt",
        "--cluster-signing-kubelet-client-key-file",
        "@/two.key",
    )
    assert signers(given(*files)) == {"kubernetes.io/kube-apiserver-client-kubelet": "CN=two"}
    with pytest.raises(Unusable, match="cannot specify default and per controller certs at the same time"):
        given(*ONE, *files)
    with pytest.raises(Unusable, match="needs both a certificate and a key"):
        given(*files[:2])


def test_files_that_are_no_authority(given):
    with pytest.raises(Unusable, match="error reading CA cert file"):
        given("--cluster-signing-cert-file", "@/one.key", "--cluster-signing-key-file", "@/one.key")
    with pytest.raises(Unusable, match="error reading CA cert file"):
        given("--cluster-signing-cert-file", "@/none", "--cluster-signing-key-file", "@/none")


def test_a_new_authority_is_taken_while_it_runs(given, tmp_path):
    found = given(*ONE, "--cluster-signing-duration", "1h")
    assert found.settings.signing_duration == 3600
    (tmp_path / "two.crt").replace(tmp_path / "one.crt")
    (tmp_path / "two.key").replace(tmp_path / "one.key")
    assert found.watched[0].look() == ""
    assert signers(found) == dict.fromkeys(SIGNERS, "CN=two")


def test_ranges_of_pods_are_cut_for_nodes_only_if_that_is_wanted(given):
    assert given("--cluster-cidr", "10.0.0.0/16").settings.pod_ranges == ()
    flags = ("--allocate-node-cidrs", "--cluster-cidr", "10.0.0.0/16,fd00::/48", "--node-cidr-mask-size-ipv4", "25")
    found = given(*flags, "--service-cluster-ip-range", "10.0.8.0/24").settings
    assert [each.mask for each in found.pod_ranges] == [25, 64]
    assert [str(each) for each in found.service_ranges] == ["10.0.8.0/24"]
    with pytest.raises(Unusable, match="Must specify --cluster-cidr if --allocate-node-cidrs is set"):
        given("--allocate-node-cidrs")
    with pytest.raises(Unusable, match="not allowed with dual-stack clusters"):
        given(*flags[:3], "--node-cidr-mask-size", "25")


def test_periods_rates_and_bounds(given):
    found = given().settings
    assert (found.nodes, found.autoscaler) == (NodeLifecycleSettings(), AutoscalerSettings())
    assert (found.finished_pods_kept, found.collect_garbage, found.account_token) == (12500, True, None)
    assert set(found.workers) <= UPSTREAMS_NAMES
    found = given(
        *("--node-monitor-grace-period", "40s", "--node-eviction-rate", "1", "--large-cluster-size-threshold", "5"),
        *("--horizontal-pod-autoscaler-sync-period", "1m", "--horizontal-pod-autoscaler-tolerance", "0.2"),
        *("--concurrent-deployment-syncs", "3", "--terminated-pod-gc-threshold", "0", "--no-enable-garbage-collector"),
    ).settings
    assert (found.nodes.grace, found.nodes.eviction_rate, found.nodes.large_zone) == (40.0, 1.0, 5)
    assert (found.autoscaler.sync_period, found.autoscaler.tolerance) == (60.0, 0.2)
    assert found.workers["deployment-controller"] == 3
    assert (found.finished_pods_kept, found.collect_garbage) == (0, False)
    with pytest.raises(Unusable, match="job-controller cannot work on 0 keys at a time"):
        given("--concurrent-job-syncs", "0")


def test_tokens_in_secrets_need_a_key(given, tmp_path):
    (tmp_path / "sa.key").write_bytes(tls.make_signing_key("ES256"))
    issue = given("--service-account-private-key-file", "@/sa.key").settings.account_token
    account = {"metadata": {"name": "robot", "namespace": "default", "uid": "u"}}
    claims = jwt.decode(issue(account, {"metadata": {"name": "t"}}), options={"verify_signature": False})
    assert (claims["iss"], claims["sub"]) == ("kubernetes/serviceaccount", "system:serviceaccount:default:robot")
    with pytest.raises(Unusable):
        given("--service-account-private-key-file", "@/one.crt")
