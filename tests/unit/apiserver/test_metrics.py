"""The server's own metrics, under upstream's names: apiserver/pkg/endpoints/metrics, apiserver/pkg/storage/etcd3/metrics."""

import asyncio

from tests.wire import Wire, configmap, converse

from tiphys.base.clock import RealClock
from tiphys.base.metrics import Registry
from tiphys.base.process_metrics import show_process
from tiphys.base.tasks import cancel, spawn


async def shown(wire: Wire) -> dict[str, float]:
    text = (await wire("GET", "/metrics")).text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_what_is_stored_and_asked_for():
    async def scenario(wire: Wire) -> None:
        before = await shown(wire)
        assert (await wire("POST", "/api/v1/namespaces/default/configmaps", configmap("a"))).status == 201
        assert (await wire("GET", "/api/v1/namespaces/default/configmaps/a", token="wrong")).status == 401
        after = await shown(wire)
        for name in (
            'apiserver_resource_objects{group="",resource="configmaps"}',
            'apiserver_storage_objects{resource="configmaps"}',
            'authentication_attempts{result="failure"}',
        ):
            assert after[name] == before[name] + 1
        assert after['apiserver_storage_objects{resource="clusterroles.rbac.authorization.k8s.io"}'] > 50
        assert after['apiserver_storage_size_bytes{storage_cluster_id=""}'] > 10_000
        asked = 'verb="POST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="namespace"'
        assert after[f'apiserver_request_total{{{asked},component="apiserver",code="201"}}'] == 1
        assert after[f'apiserver_request_duration_seconds_count{{{asked},component="apiserver"}}'] == 1
        assert any(name.startswith("kubernetes_build_info{") and 'git_version="v1.36' in name for name in after)

    converse(scenario)


def test_who_watches():
    where = 'group="",version="v1",resource="configmaps"'
    sent = f"apiserver_watch_events_total{{{where}}}"
    watching = f'apiserver_longrunning_requests{{verb="WATCH",{where},subresource="",scope="namespace",component="apiserver"}}'

    async def scenario(wire: Wire) -> None:
        await wire("POST", "/api/v1/namespaces/default/configmaps", configmap("a"))
        there = len((await wire("GET", "/api/v1/namespaces/default/configmaps")).tree["items"])

        async def watch() -> None:
            await wire("GET", "/api/v1/namespaces/default/configmaps?watch=1")

        async with asyncio.TaskGroup() as group:
            task = spawn(group, watch(), name="watch")
            await asyncio.sleep(1)
            await wire("POST", "/api/v1/namespaces/default/configmaps", configmap("b"))
            during = await shown(wire)
            assert (during[watching], during[sent]) == (1, there + 1)
            await cancel(task)
        assert (await shown(wire))[watching] == 0

    converse(scenario)


def test_the_process():
    # https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
    metrics = Registry()
    show_process(metrics)
    told = dict(line.split() for line in metrics.render().decode().splitlines() if not line.startswith("#"))
    assert float(told["process_cpu_seconds_total"]) > 0
    assert 10 << 20 < float(told["process_resident_memory_bytes"]) < float(told["process_virtual_memory_bytes"])
    assert 3 <= float(told["process_open_fds"]) <= float(told["process_max_fds"])
    now = RealClock().now()
    assert now - 7200 < float(told["process_start_time_seconds"]) <= now + 1
