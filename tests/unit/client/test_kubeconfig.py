from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from tiphys.base.tls import Pair
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access, BadConfig

ACCESS = Access("https://127.0.0.1:6443", b"CA", Pair(b"CERT", b"KEY"))


def test_files_merge_as_kubectl_does(tmp_path):
    # https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
    first, second = tmp_path / "a", tmp_path / "b"
    kubeconfig.merge_context(first, "one", ACCESS)
    kubeconfig.merge_context(second, "one", Access("https://other"))
    kubeconfig.merge_context(second, "two", Access("https://two/", token="t", namespace="n"))
    config = kubeconfig.load([first, tmp_path / "absent", second])
    assert config["current-context"] == "one"
    assert kubeconfig.resolve(config) == ACCESS
    assert kubeconfig.resolve(config, "two") == Access("https://two", token="t", namespace="n")


def test_a_new_context_leaves_the_rest_of_the_file(tmp_path):
    path = tmp_path / "config"
    kubeconfig.merge_context(path, "old", Access("https://old"))
    before = yaml.safe_load(path.read_text())
    before["users"][0]["user"] = {"exec": {"command": "login"}}
    path.write_text(yaml.safe_dump(before))
    kubeconfig.merge_context(path, "new", ACCESS, use=False)
    kubeconfig.merge_context(path, "new", ACCESS)
    after = yaml.safe_load(path.read_text())
    assert [entry["name"] for entry in after["contexts"]] == ["old", "new"]
    assert after["users"][0] == before["users"][0]
    assert after["current-context"] == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    kubeconfig.remove_context(path, "new")
    assert yaml.safe_load(path.read_text())["users"] == before["users"]


def test_files_are_named_relative_to_the_configuration(tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"CA")
    path = tmp_path / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": "https://s", "certificate-authority": "ca.crt"}}],
                "users": [{"name": "u", "user": {"tokenFile": "token", "as": "jane", "as-groups": ["a", "b"]}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    access = kubeconfig.resolve(kubeconfig.load([path]), "x")
    assert access.authority == b"CA"
    assert access.token_file == str(tmp_path / "token")
    assert access.impersonate == (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))


def test_embedded_data_goes_before_files(tmp_path):
    config = kubeconfig.context_of("x", ACCESS)
    config["clusters"][0]["cluster"]["certificate-authority"] = str(tmp_path / "absent")
    assert kubeconfig.resolve(config).authority == b"CA"
    assert config["users"][0]["user"]["client-key-data"] == b64encode(b"KEY").decode()


@pytest.mark.parametrize(
    ("context", "told"),
    [("", "no configuration has been provided"), ("nope", 'context "nope" does not exist'), ("bare", "names no cluster")],
)
def test_bad_contexts(context, told):
    config = {"contexts": [{"name": "bare", "context": {"cluster": "c"}}]}
    with pytest.raises(BadConfig, match=told):
        kubeconfig.resolve(config, context)


def test_unreadable_files(tmp_path):
    path = tmp_path / "config"
    path.write_text("a: [")
    with pytest.raises(BadConfig, match="error loading config file"):
        kubeconfig.load([path])
    path.write_text("- a")
    with pytest.raises(BadConfig, match="not a mapping"):
        kubeconfig.load([path])


def test_default_paths():
    assert kubeconfig.default_paths({"KUBECONFIG": "/a:/b:"}) == [Path("/a"), Path("/b")]
    assert kubeconfig.default_paths({"HOME": "/home/me"}) == [Path("/home/me/.kube/config")]


def test_in_cluster(tmp_path):
    # client-go rest/config.go, InClusterConfig
    for name, text in (("ca.crt", "CA"), ("token", "t"), ("namespace", "ns\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = kubeconfig.in_cluster(environment, tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "ns")
    with pytest.raises(BadConfig, match="must be defined"):
        kubeconfig.in_cluster({}, tmp_path)
