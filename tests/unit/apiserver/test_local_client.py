"""The in-process client keeps the contract of client.interface: what a server would answer is an ApiError."""

import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.apiserver.local_client import LocalClient
from tiphys.machinery.errors import ApiError
from tiphys.store.interface import Unavailable


async def refused(answer) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        await answer
    return refusal.value


def test_a_store_that_is_away():
    async def scenario(cluster: Cluster) -> None:
        client = cluster.admin
        assert isinstance(client, LocalClient)

        class Away:
            def __getattr__(self, name):
                async def fail(*_arguments, **_more):
                    raise Unavailable("etcd at there does not answer")

                return fail

        cluster.server.backend.store = Away()
        config = {"metadata": {"name": "a"}}
        for attempt in (
            client.get(CONFIG_MAPS, "a", "default"),
            client.list(CONFIG_MAPS, "default"),
            client.create(CONFIG_MAPS, config, "default"),
            client.delete(CONFIG_MAPS, "a", "default"),
            anext(client.watch(CONFIG_MAPS, "default")),
        ):
            refusal = await refused(attempt)
            assert (refusal.code, refusal.reason, str(refusal.message)) == (
                503,
                "ServiceUnavailable",
                "etcd at there does not answer",
            )

    simulate(scenario)
