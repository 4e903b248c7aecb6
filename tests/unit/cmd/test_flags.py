"""Command lines with upstream's flags: which are given, and how /flagz shows them."""

import argparse

import pytest

from tiphys.cmd import apiserver_flags, flags, gate_flags, kubelet_flags
from tiphys.cmd.data_directory import Unusable
from tiphys.machinery.feature_gates import PAGES


def test_what_is_given_even_if_it_is_the_default():
    parser = apiserver_flags.parser("apiserver")
    arguments = ["--authorization-mode=AlwaysAllow", "--etcd-servers", "http://a:1", "--service-account-issuer", "x"]
    assert flags.named(parser, arguments) == {"authorization_mode", "etcd_servers", "service_account_issuer"}
    assert flags.named(parser, []) == set()


# Of a live v1.36.4 kube-apiserver, whose /flagz shows these values of the same flags.
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization-mode", "[RBAC]"),
        ("authorization-webhook-cache-authorized-ttl", "5m0s"),
        ("service-account-max-token-expiration", "0s"),
        ("event-ttl", "1h0m0s"),
        ("service-node-port-range", "30000-32767"),
        ("allow-privileged", "true"),
        ("client-ca-file", ""),
        ("secure-port", "6443"),
        ("feature-gates", "ComponentFlagz=true,PodsAPI=true"),
        ("audit-webhook-batch-throttle-qps", "10"),
        ("v", "2"),
    ],
)
def test_values_are_shown_as_go_does(name, value):
    parser = apiserver_flags.parser("apiserver")
    arguments = [
        "--authorization-mode",
        "RBAC",
        "-v",
        "2",
        "--feature-gates",
        "PodsAPI=true",
        "--feature-gates=ComponentFlagz=true",
    ]
    assert flags.shown(parser, parser.parse_args(arguments))[name] == value


def test_a_flag_is_shown_by_its_first_name():
    parser = flags.Parser()
    parser.add_argument("--leader-elect", action=flags.Switch, default=True)
    assert flags.shown(parser, parser.parse_args([])) == {"leader-elect": "true"}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ([], None),
        (["--leader-elect"], True),
        (["--leader-elect=true"], True),
        (["--leader-elect=false"], False),
        (["--no-leader-elect"], False),
        (["--no-leader-elect=false"], True),
    ],
)
def test_a_switch_is_set_as_upstreams_and_as_ours(arguments, value):
    parser = flags.Parser()
    parser.add_argument("--leader-elect", action=flags.Switch)
    assert parser.parse_args(arguments).leader_elect is value


def test_a_mistake_is_not_drowned_in_usage(capsys):
    parser = flags.Parser(prog="tiphys fly")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--high"])
    assert ended.value.code == 2
    told = "error: unrecognized arguments: --high\n\n`tiphys fly --help` lists what it takes.\n"
    assert capsys.readouterr().err == told


def test_gates_are_warned_of_and_refused(capsys):
    assert gate_flags.gates({"PodsAPI": True}, PAGES).on("PodsAPI")
    assert capsys.readouterr().err == "warning: these feature gates change nothing here: PodsAPI=true\n"
    with pytest.raises(Unusable, match="unrecognized feature gate: Foo"):
        gate_flags.gates({"Foo": True}, PAGES)
    with pytest.raises(SystemExit):
        apiserver_flags.parser("apiserver").parse_args(["--feature-gates", "Foo"])
    assert "missing bool value for Foo" in capsys.readouterr().err


# v1.36 cmd/kubelet/app/server.go: gates of flags go before those of the file, one by one.
def test_gates_of_a_kubelet(tmp_path):
    file = tmp_path / "config"
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    file.write_text(f"{head}featureGates: {{PodsAPI: true, ComponentFlagz: true}}")
    parser = argparse.ArgumentParser()
    kubelet_flags.add(parser)
    given = parser.parse_args(["--kubeconfig", "x", "--config", str(file), "--feature-gates", "ComponentFlagz=false"])
    assert kubelet_flags.told(given, {})["featureGates"] == {"PodsAPI": True, "ComponentFlagz": False}
