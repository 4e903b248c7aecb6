"""The flags about kubelets."""

import pytest

from tiphys.base import tls
from tiphys.base.tls import Subject
from tiphys.cmd.apiserver_flags import parser
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.kubelet_client_flags import settings

NOW = 1_800_000_000.0


def read(*arguments: str, made=None):
    return settings(parser("apiserver").parse_args(arguments), made)


def test_nothing_is_said():
    # v1.36.4 cmd/kube-apiserver/app/options/options.go:75: the order of address types; kubelets' certificates are not checked
    found = read()
    assert found.address_types == ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
    assert (found.client, found.authority) == (None, b"")


def test_files(tmp_path):
    authority = tls.make_authority("x", now=NOW)
    client = tls.issue(authority, Subject("c"), ["client"], now=NOW)
    tls.save(client, tmp_path / "c.crt", tmp_path / "c.key")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    files = ("--kubelet-client-certificate", f"{tmp_path}/c.crt", "--kubelet-client-key", f"{tmp_path}/c.key")
    found = read(*files, "--kubelet-certificate-authority", f"{tmp_path}/ca.crt", made=authority)
    assert (found.client, found.authority) == (client, authority.certificate)
    assert read(made=authority).client == authority


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kubelet-client-key", "k"], "go together"),
        (["--kubelet-preferred-address-types", "Nowhere"], "not 'Nowhere'"),
        (["--kubelet-certificate-authority", "/none/ca.crt"], "cannot read /none/ca.crt: No such file"),
        (["--kubelet-certificate-authority", __file__], "cannot use"),
    ],
)
def test_what_cannot_be(arguments, told):
    with pytest.raises(Unusable, match=told):
        read(*arguments)
