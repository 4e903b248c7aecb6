"""Tokens in Secrets: filled in, gone with their account, and cleaned up when nobody uses them. v1.36.4
pkg/controller/serviceaccount/tokens_controller_test.go, legacy_serviceaccount_token_cleaner_test.go."""

from base64 import b64decode
from typing import Any

from tests.cluster import Cluster, simulate

from tiphys.api.core.pods import PODS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.controllers.account_tokens import AccountTokens
from tiphys.controllers.legacy_tokens import DAY, INVALID_SINCE, LAST_USED, LegacyTokens
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

CA = "-----BEGIN CERTIFICATE-----"


def every() -> list[Any]:
    return [AccountTokens(lambda account, secret: f"{meta.uid(account)} {meta.name(secret)}", CA), LegacyTokens(30 * DAY)]


async def account(cluster: Cluster, *secrets: str) -> Obj:
    metadata = {"name": "robot", "namespace": "default"}
    listed = [{"name": name} for name in secrets]
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "secrets": listed}
    return await cluster.create(SERVICE_ACCOUNTS, made)


async def token(cluster: Cluster, name: str = "t") -> Obj:
    metadata = {"name": name, "namespace": "default", "annotations": {"kubernetes.io/service-account.name": "robot"}}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}
    return await cluster.create(SECRETS, {**kind, "metadata": metadata})


async def find(cluster: Cluster, name: str = "t") -> Obj | None:
    return next((each for each in await cluster.list(SECRETS) if meta.name(each) == name), None)


def test_a_token_is_filled_in_and_kept_right():
    async def scenario(cluster: Cluster) -> None:
        made = await account(cluster)
        await token(cluster)
        await cluster.settle()
        found = await find(cluster)
        assert found is not None
        data = {name: b64decode(value).decode() for name, value in found["data"].items()}
        assert data == {"ca.crt": CA, "namespace": "default", "token": f"{meta.uid(made)} t"}
        assert meta.annotations(found)["kubernetes.io/service-account.uid"] == meta.uid(made)
        await cluster.patch(SECRETS, "default/t", {"data": {"ca.crt": None, "token": None}})
        await cluster.settle()
        after = await find(cluster)
        assert after is not None
        assert after["data"] == found["data"]

    simulate(scenario, every)


def test_a_token_without_its_account_goes():
    async def scenario(cluster: Cluster) -> None:
        await token(cluster, "early")
        await cluster.settle()
        assert await find(cluster, "early") is None
        await account(cluster)
        await token(cluster)
        await cluster.settle()
        await cluster.delete(SERVICE_ACCOUNTS, "default/robot")
        await cluster.settle()
        assert await find(cluster) is None

    simulate(scenario, every)


def test_an_account_forgets_a_token_that_is_gone():
    async def scenario(cluster: Cluster) -> None:
        await account(cluster, "t", "other")
        await token(cluster)
        await cluster.settle()
        await cluster.delete(SECRETS, "default/t")
        await cluster.settle()
        assert (await cluster.get(SERVICE_ACCOUNTS, "default/robot"))["secrets"] == [{"name": "other"}]

    simulate(scenario, every)


def test_what_nobody_uses_is_marked_and_later_deleted():
    async def scenario(cluster: Cluster) -> None:
        await account(cluster, "t", "mounted", "used")
        for name in ("t", "mounted", "used", "made-by-hand"):
            await token(cluster, name)
        await cluster.settle(27 * DAY)
        today = {"metadata": {"labels": {LAST_USED: "2027-02-10"}}}
        await cluster.patch(SECRETS, "default/used", today)
        container = {"name": "c", "image": "x"}
        volume = {"name": "v", "secret": {"secretName": "mounted"}}
        spec = {"containers": [container], "volumes": [volume], "serviceAccountName": "robot"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
        await cluster.create(PODS, pod)
        await cluster.settle(6 * DAY)
        marked = [meta.name(each) for each in await cluster.list(SECRETS) if INVALID_SINCE in meta.labels(each)]
        assert marked == ["t"]
        await cluster.settle(33 * DAY)
        left = [meta.name(each) for each in await cluster.list(SECRETS)]
        assert left == ["made-by-hand", "mounted", "used"]

    simulate(scenario, every)
