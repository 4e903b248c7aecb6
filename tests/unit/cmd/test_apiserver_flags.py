"""Flags of `tiphys apiserver` are read as kube-apiserver reads them."""

import argparse

import pytest

from tiphys.cmd.apiserver_flags import listed, parser, port_range
from tiphys.cmd.flags import yes_or_no


# v1.36 staging/src/k8s.io/apiserver: boolean flags take a value after `=`, or stand alone for true.
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], True), (["--anonymous-auth"], True), (["--anonymous-auth=true"], True), (["--anonymous-auth=false"], False)],
)
def test_booleans(arguments, expected):
    assert parser("apiserver").parse_args(arguments).anonymous_auth is expected


@pytest.mark.parametrize("value", ["yes", "", "2"])
def test_what_is_no_boolean(value):
    with pytest.raises(argparse.ArgumentTypeError):
        yes_or_no(value)


def test_lists_and_repeated_flags():
    given = parser("apiserver").parse_args(
        [
            "--etcd-servers=http://a:1,http://b:1",
            "--service-account-key-file=a",
            "--service-account-key-file=b",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=one",
            "--service-account-issuer=two",
        ]
    )
    assert given.etcd_servers == ("http://a:1", "http://b:1")
    assert [each.name for each in given.service_account_key_file] == ["a", "b"]
    assert given.authorization_mode == ("Node", "RBAC")
    assert given.service_account_issuer == ["one", "two"]
    assert listed(" a, ,b ") == ("a", "b")


def test_defaults_are_upstreams():
    given = parser("apiserver").parse_args([])
    # https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
    assert given.secure_port == 6443
    assert given.bind_address == "0.0.0.0"
    assert given.authorization_mode == ("AlwaysAllow",)
    assert given.service_node_port_range == (30000, 32767)


@pytest.mark.parametrize(("value", "expected"), [("30000-32767", (30000, 32767)), ("1-1", (1, 1))])
def test_ranges_of_ports(value, expected):
    assert port_range(value) == expected


@pytest.mark.parametrize("value", ["", "1", "2-1", "a-b", "0-5", "1-70000", "-1-5"])
def test_what_is_no_range(value):
    with pytest.raises(argparse.ArgumentTypeError):
        port_range(value)
