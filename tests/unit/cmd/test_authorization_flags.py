"""Flags of kube-apiserver about who may do what, and the authorizers that they become."""

import asyncio

import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes
from tiphys.base.clock import RealClock
from tiphys.cmd import apiserver_flags, authorization, authorization_flags, flags
from tiphys.cmd.authorization import Step
from tiphys.cmd.data_directory import Unusable
from tiphys.store.memory import MemoryStore

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://asked.example/path"}}]
users: [{name: u, user: {token: secret}}]
"""
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"


def steps(*arguments):
    parser, arguments = apiserver_flags.parser("apiserver"), [str(each) for each in arguments]
    given = parser.parse_args(arguments)
    authorization_flags.settle(given, flags.named(parser, arguments))
    return authorization_flags.steps(given)


def test_modes():
    assert steps() == (Step("AlwaysAllow"),)
    assert steps("--authorization-mode", "Node,RBAC") == (Step("Node"), Step("RBAC"))


def test_a_webhook(tmp_path):
    file = tmp_path / "webhook"
    file.write_text(KUBECONFIG)
    arguments = ["--authorization-mode", "RBAC,Webhook", "--authorization-webhook-config-file", file]
    ttls = ["--authorization-webhook-cache-authorized-ttl", "1m", "--authorization-webhook-cache-unauthorized-ttl", "0"]
    first, second = steps(*arguments, *ttls, "--authorization-webhook-version", "v1")
    webhook = second.webhook
    assert first == Step("RBAC")
    assert webhook.access.token == "secret"
    assert (webhook.settings.version, webhook.settings.allowed_seconds, webhook.settings.denied_seconds) == ("v1", 60, 0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--authorization-mode", "Webhook"], "config file not passed"),
        (["--authorization-webhook-config-file", "x"], "without mode Webhook"),
        (["--authorization-mode", "RBAC,RBAC"], "specified more than once"),
        (["--authorization-mode", ""], "at least one authorization-mode must be passed"),
        (["--authorization-mode", "Trust"], 'authorization-mode "Trust" is not a valid mode'),
        (["--authorization-mode", "ABAC"], "ABAC's authorization policy file not passed"),
        (["--authorization-policy-file", "x"], "without mode ABAC"),
        (["--authorization-config", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_what_makes_no_sense(arguments, problem):
    with pytest.raises(Unusable, match=problem):
        steps(*arguments)


# v1.36 pkg/kubeapiserver/options/authorization.go:105
@pytest.mark.parametrize(
    "more",
    [
        ["--authorization-mode", "AlwaysAllow"],
        ["--authorization-webhook-version=v1beta1"],
        ["--authorization-webhook-config-file", "x"],
        ["--authorization-webhook-cache-authorized-ttl", "5m"],
        ["--authorization-webhook-cache-unauthorized-ttl", "30s"],
    ],
)
def test_the_file_or_the_flags(tmp_path, more):
    file = tmp_path / "config"
    file.write_text(HEAD + "authorizers: [{type: RBAC, name: rbac}]")
    assert steps("--authorization-config", file) == (Step("RBAC"),)
    told = (
        "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-\\* flags are defined"
    )
    with pytest.raises(Unusable, match=told):
        steps("--authorization-config", file, *more)


def test_a_changed_file_counts_from_then_on_and_a_bad_one_never(tmp_path):
    file = tmp_path / "config"
    rbac, node, anybody = (f"{{type: {each}, name: {each.lower()}}}" for each in ("RBAC", "Node", "AlwaysAllow"))
    asked = Attributes(User("alice"), "get", path="/version")

    def content(*authorizers):
        return f"{HEAD}authorizers: [{', '.join(authorizers)}]"

    async def whole():
        async def looked(text):
            file.write_text(text)
            return built.watched[0].look(), (await built.chain.authorize(asked)).allowed

        file.write_text(content(rbac))
        built = await authorization.build(steps("--authorization-config", file), (), file, MemoryStore(), RealClock())
        assert not (await built.chain.authorize(asked)).allowed
        assert await looked(content(rbac, anybody)) == ("", True)
        problem, allowed = await looked("nonsense")
        assert problem.startswith("failed to load AuthorizationConfiguration from file")
        assert allowed
        assert await looked(content(anybody)) == ("missing required types: [RBAC]", True)
        told = "authorizer type Node is not allowed if it was not enabled at initial server startup"
        assert await looked(content(rbac, node)) == (told, True)
        assert await looked(content(rbac) + " ") == ("", False)

    asyncio.run(whole())
