"""Flags of kube-apiserver about admission, audit and encryption at rest, and the settings that they become."""

import base64
import json

import pytest

from tiphys.apiserver.admission.registry import AdmissionSettings
from tiphys.apiserver.audit.log_file import LogSettings
from tiphys.apiserver.authn import signing_keys
from tiphys.base import tls
from tiphys.cmd import apiserver_flags, writing_flags
from tiphys.cmd.api_server import ApiServerSettings
from tiphys.cmd.authentication import ServiceAccounts, Trusted
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.stores import StoreSettings
from tiphys.store.interface import SEALED

KEY = signing_keys.load_signing_key(tls.make_signing_key("ES256"))


def completed(tmp_path, *arguments):
    plain = ApiServerSettings(
        StoreSettings("memory", tmp_path),
        "127.0.0.1",
        0,
        tls.Pair(b"", b""),
        Trusted(ServiceAccounts(KEY, (), ("https://ours.example",), ("api",))),
        ("10.0.0.0/24",),
    )
    given = apiserver_flags.parser("apiserver").parse_args([str(each) for each in arguments])
    return writing_flags.completed(plain, given)


@pytest.mark.parametrize(
    ("arguments", "allowed"), [((), True), (("--allow-privileged",), True), (("--allow-privileged=false",), False)]
)
def test_whether_containers_may_be_privileged(tmp_path, arguments, allowed):
    assert completed(tmp_path, *arguments).admission.allow_privileged is allowed


def test_without_flags_the_default_plugins_run_and_nothing_is_recorded_or_encrypted(tmp_path):
    settings = completed(tmp_path)
    assert settings.admission == AdmissionSettings()
    assert (settings.audit.policy_file, settings.audit.log, settings.store.codec) == (None, None, None)


def test_plugins_and_their_configuration(tmp_path):
    (tmp_path / "limits.yaml").write_text(json.dumps({"limits": [{"type": "Server", "qps": 1, "burst": 2}]}))
    file = tmp_path / "admission.yaml"
    file.write_text(
        json.dumps({"kind": "AdmissionConfiguration", "plugins": [{"name": "EventRateLimit", "path": "limits.yaml"}]})
    )
    names = ["--enable-admission-plugins", "NodeRestriction,EventRateLimit", "--disable-admission-plugins", "LimitRanger"]
    more = ["--admission-control-config-file", file, "--default-not-ready-toleration-seconds", 10]
    found = completed(tmp_path, *names, *more).admission
    assert (found.enabled, found.disabled) == (("NodeRestriction", "EventRateLimit"), ("LimitRanger",))
    assert found.configuration.event_limits[0].burst == 2
    assert found.configuration.toleration_seconds == (10, 300)


def test_the_audit_log(tmp_path):
    flags = ["--audit-policy-file", "p", "--audit-log-path", "-", "--audit-log-maxsize", 1, "--audit-log-maxage", 2]
    found = completed(tmp_path, *flags, "--audit-log-maxbackup", 3, "--audit-webhook-batch-max-wait", "1m30s").audit
    assert str(found.policy_file) == "p"
    assert found.log == LogSettings("-", 1, 2, 3)
    assert found.batches.seconds == 90


def test_encryption_at_rest(tmp_path):
    key = {"name": "k", "secret": base64.b64encode(bytes(32)).decode()}
    rule = {"resources": ["secrets"], "providers": [{"aesgcm": {"keys": [key]}}]}
    file = tmp_path / "encryption.yaml"
    file.write_text(json.dumps({"kind": "EncryptionConfiguration", "resources": [rule]}))
    codec = completed(tmp_path, "--encryption-provider-config", file).store.codec
    assert codec.seal("secrets", "t/s", b"{}").startswith(SEALED)
    assert codec.seal("pods", "t/p", b"{}") == b"{}"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--enable-admission-plugins", "Nope"], 'enable-admission-plugins plugin "Nope" is unknown'),
        (["--admission-control-config-file", "/nowhere"], "No such file"),
        (["--encryption-provider-config", "/nowhere"], "error while parsing file: /nowhere"),
    ],
)
def test_what_cannot_be_is_told(tmp_path, flags, told):
    with pytest.raises(Unusable, match=told):
        completed(tmp_path, *flags)
