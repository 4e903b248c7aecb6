import math

import pytest

from tiphys.base.metrics import Registry, exponential


def test_rendered_as_prometheus_reads_it():
    # https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
    registry = Registry()
    requests = registry.counter("requests_total", "All\nrequests.", ["verb", "code"])
    get = requests.labels("GET", "200")
    get.inc()
    get.value += 1
    requests.labels('P"\\\n', "500").inc(0.5)
    registry.gauge("load", "Load.").only.set(-1.25)
    took = registry.histogram("seconds", "Time.", ["verb"], buckets=(1, 0.1)).labels("GET")
    for value in (0.05, 0.1, 0.5, 7):
        took.observe(value)
    assert registry.render().decode().splitlines() == [
        "# HELP load Load.",
        "# TYPE load gauge",
        "load -1.25",
        "# HELP requests_total All\\nrequests.",
        "# TYPE requests_total counter",
        'requests_total{verb="GET",code="200"} 2',
        'requests_total{verb="P\\"\\\\\\n",code="500"} 0.5',
        "# HELP seconds Time.",
        "# TYPE seconds histogram",
        'seconds_bucket{verb="GET",le="0.1"} 2',
        'seconds_bucket{verb="GET",le="1"} 3',
        'seconds_bucket{verb="GET",le="+Inf"} 4',
        'seconds_sum{verb="GET"} 7.65',
        'seconds_count{verb="GET"} 4',
    ]


def test_a_family_is_made_once():
    registry = Registry()
    registry.counter("a", "A.").only.inc()
    assert registry.counter("a", "A.").only.value == 1
    with pytest.raises(ValueError, match="has labels"):
        registry.counter("a", "A.").labels("x")


def test_gauges_can_be_read_when_shown():
    registry = Registry()
    gauge = registry.gauge("g", "G.", ["of"])
    registry.before_render(lambda: gauge.labels("x").set(math.inf))
    assert b'g{of="x"} +Inf\n' in registry.render()
    gauge.remove("x")


def test_exponential():
    assert exponential(1, 2, 4) == (1, 2, 4, 8)
