"""What the proxy says of itself."""

import orjson
import pytest

from tiphys.proxy.health import Health
from tiphys.proxy.rules import HealthCheck

NODE = {"metadata": {"name": "here"}, "spec": {}}


def test_a_change_that_waits_too_long():
    # v1.36.4 pkg/proxy/healthcheck/healthcheck_test.go TestHealthzServer
    health = Health(60)
    health.node = NODE
    assert health.ready(0).status == 200
    health.updated(100)
    health.queued(110)
    health.queued(165)
    assert health.ready(169).status == 200
    assert (health.ready(170).status, health.alive(170).status) == (503, 503)
    health.updated(171)
    assert health.ready(1000).status == 200


@pytest.mark.parametrize(
    "node",
    [
        None,
        {"metadata": {"name": "here", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {**NODE, "spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}},
    ],
)
def test_a_node_that_goes_away_should_get_no_traffic_but_the_proxy_is_alive(node):
    # v1.36.4 pkg/proxy/healthcheck/proxy_health.go NodeEligible
    health = Health(60)
    health.node = node
    assert (health.ready(0).status, health.alive(0).status) == (503, 200)


def test_the_answer():
    # v1.36.4 pkg/proxy/healthcheck/proxy_health.go ProxyHealth
    health = Health(60)
    health.node = NODE
    health.updated(1_700_000_000)
    said = orjson.loads(health.ready(1_700_000_001).body)
    family = {"lastUpdated": "2023-11-14T22:13:20.000000Z", "healthy": True}
    now = "2023-11-14T22:13:21.000000Z"
    assert said == {
        "lastUpdated": now,
        "currentTime": now,
        "nodeEligible": True,
        "healthy": True,
        "status": {"IPv4": family, "IPv6": family},
    }
    assert "nodeEligible" not in orjson.loads(health.alive(1_700_000_001).body)


@pytest.mark.parametrize(("local", "well", "status"), [(1, True, 200), (0, True, 503), (1, False, 503)])
def test_what_a_load_balancer_is_told(local, well, status):
    # v1.36.4 pkg/proxy/healthcheck/service_health.go
    health = Health(60)
    health.queued(0)
    told = health.of_service(HealthCheck("default", "s", 31000, local), 1 if well else 100)
    said = {"service": {"namespace": "default", "name": "s"}, "localEndpoints": local, "serviceProxyHealthy": well}
    assert (told.status, orjson.loads(told.body)) == (status, said)
    assert ("X-Load-Balancing-Endpoint-Weight", str(local)) in told.headers
