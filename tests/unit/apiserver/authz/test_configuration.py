"""AuthorizationConfiguration is refused in the words in which a live v1.36.4 kube-apiserver has refused the same files.

`authorization_configs.jsonl`: the content of --authorization-config and what the server said of it, empty where it started;
`/FILE` is a kubeconfig that is there.
"""

from pathlib import Path

import orjson
import pytest

from tiphys.apiserver.authz.attributes import Verdict
from tiphys.apiserver.authz.configuration import AuthorizerConfiguration, parse

CASES = [orjson.loads(line) for line in Path(__file__).with_name("authorization_configs.jsonl").read_bytes().splitlines()]
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"
WEBHOOK = """
authorizers:
- type: Webhook
  name: asked.example.com
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1beta1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /FILE}
"""


def file_problem(file):
    if file == "/nowhere":
        return "error loading file: stat /nowhere: no such file or directory"
    return "" if file == "/FILE" else "must be a regular file"


@pytest.mark.parametrize(("content", "told"), CASES)
def test_what_is_said_of_a_file(content, told):
    if not told:
        parse(content.encode(), file_problem)
        return
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - all of its words are compared
        parse(content.encode(), file_problem)
    assert str(refused.value) == told


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_authorizers_stand_in_their_order(version):
    authorizers = "authorizers: [{type: RBAC, name: rbac}, {type: Node, name: node}, {type: AlwaysDeny, name: alwaysdeny}]"
    found = parse((HEAD.replace("/v1\n", f"/{version}\n") + authorizers).encode(), file_problem)
    assert found == tuple(AuthorizerConfiguration(each, each.lower()) for each in ("RBAC", "Node", "AlwaysDeny"))


# v1.36 staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1/defaults.go:50
def test_a_webhook_and_its_defaults():
    webhook = parse((HEAD + WEBHOOK).encode(), file_problem)[0].webhook
    assert (webhook.file, webhook.seconds, webhook.conditions) == ("/FILE", 3, ())
    settings = webhook.settings
    assert (settings.version, settings.allowed_seconds, settings.denied_seconds) == ("v1beta1", 300, 30)
    assert settings.on_error is Verdict.DENY


def test_answers_are_kept_as_long_as_it_says():
    said = "timeout: 3s\n    authorizedTTL: 1m\n    unauthorizedTTL: 5s\n    cacheUnauthorizedRequests: false"
    settings = parse((HEAD + WEBHOOK.replace("timeout: 3s", said)).encode(), file_problem)[0].webhook.settings
    assert (settings.allowed_seconds, settings.denied_seconds) == (60, 0)


# v1.36 pkg/kubeapiserver/authorizer/config.go:200
def test_what_was_there_at_the_start_has_to_stay():
    content = (HEAD + "authorizers: [{type: RBAC, name: rbac}]").encode()
    with pytest.raises(ValueError, match=r"^missing required types: \[ABAC Node\]$"):
        parse(content, file_problem, ("RBAC", "Node", "ABAC"))


@pytest.mark.differs(
    "an AuthorizationConfiguration with a webhook of connectionInfo.type InClusterConfig makes kube-apiserver crash",
    "it is refused",
)
def test_a_server_does_not_ask_itself():
    content = HEAD + WEBHOOK.replace("type: KubeConfigFile, kubeConfigFile: /FILE", "type: InClusterConfig")
    with pytest.raises(ValueError, match="InClusterConfig is not allowed for kube-apiserver"):
        parse(content.encode(), file_problem)


@pytest.mark.parametrize("content", [b"words", b"[1]", b"1", b"{a", b"\xff"])
def test_what_is_no_configuration_at_all(content):
    with pytest.raises(ValueError, match="failed to load AuthorizationConfiguration from file: "):
        parse(content, file_problem)
