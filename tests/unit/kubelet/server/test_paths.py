"""What requests to the kubelet ask for (v1.36.4 pkg/kubelet/server/server.go, auth.go)."""

import pytest

from tiphys.kubelet.server.paths import Asked, is_on, parse, query_of, rights


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/containerLogs/d/p/c", Asked("containerLogs", "d", "p", "", "c")),
        ("/exec/d/p/c", Asked("exec", "d", "p", "", "c")),
        ("/exec/d/p/u/c", Asked("exec", "d", "p", "u", "c")),
        ("/attach/d/p/c", Asked("attach", "d", "p", "", "c")),
        ("/portForward/d/p", Asked("portForward", "d", "p")),
        ("/portForward/d/p/u", Asked("portForward", "d", "p", "u")),
        ("/pods", Asked("pods")),
        ("/healthz", Asked("healthz")),
        ("/exec/d", None),
        ("/nothing", None),
        ("/", None),
    ],
)
def test_paths(path, asked):
    assert parse(path) == asked


def test_rights():
    assert rights(parse("/exec/d/p/c"), "POST", "n") == [
        {"verb": "create", "version": "v1", "resource": "nodes", "subresource": "proxy", "name": "n"}
    ]


@pytest.mark.parametrize(
    ("path", "subresources"),
    [
        # pkg/kubelet/server/auth.go: GetRequestAttributes
        ("/pods", ["pods", "proxy"]),
        ("/runningpods/", ["pods", "proxy"]),
        ("/healthz", ["healthz", "proxy"]),
        ("/healthz/syncloop", ["healthz", "proxy"]),
        ("/configz", ["configz", "proxy"]),
        ("/statusz", ["statusz"]),
        ("/flagz", ["configz"]),
        ("/stats/summary", ["stats"]),
        ("/metrics", ["metrics"]),
        ("/metrics/cadvisor", ["metrics"]),
        ("/logs/syslog", ["log"]),
        ("/checkpoint/d/p/c", ["checkpoint"]),
        ("/containerLogs/d/p/c", ["proxy"]),
        ("/debug/flags/v", ["proxy"]),
    ],
)
def test_fine_grained_rights(path, subresources):
    assert [each["subresource"] for each in rights(parse(path), "GET", "n")] == subresources


def test_queries():
    query = query_of("command=sh&command=-c&input=1&tty=0")
    assert query["command"] == ["sh", "-c"]
    assert is_on(query, "input")
    assert not is_on(query, "tty")
    assert not is_on(query, "error")
