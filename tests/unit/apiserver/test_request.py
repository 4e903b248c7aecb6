"""Paths and methods as authorization sees them. v1.36.4 apiserver/pkg/endpoints/request/requestinfo_test.go has the table."""

import pytest

from tiphys.apiserver.request import RequestInfo, parse_query, resolve
from tiphys.machinery.errors import ApiError

CASES = [
    # method, path, query, verb, group, version, namespace, resource, subresource, name
    ("GET", "/api/v1/namespaces", "", "list", "", "v1", "", "namespaces", "", ""),
    ("GET", "/api/v1/namespaces/other", "", "get", "", "v1", "other", "namespaces", "", "other"),
    ("GET", "/api/v1/namespaces/other/pods", "", "list", "", "v1", "other", "pods", "", ""),
    ("GET", "/api/v1/namespaces/other/pods/foo", "", "get", "", "v1", "other", "pods", "", "foo"),
    ("HEAD", "/api/v1/namespaces/other/pods/foo", "", "get", "", "v1", "other", "pods", "", "foo"),
    ("GET", "/api/v1/pods", "", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods", "watch=true", "watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods", "watch=false", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/watch/namespaces/other/pods", "", "watch", "", "v1", "other", "pods", "", ""),
    ("GET", "/api/v1/namespaces/other/pods/foo/status", "", "get", "", "v1", "other", "pods", "status", "foo"),
    ("PUT", "/api/v1/namespaces/other/finalize", "", "update", "", "v1", "other", "namespaces", "finalize", "other"),
    ("GET", "/api/v1/namespaces/other/status", "", "get", "", "v1", "other", "namespaces", "status", "other"),
    ("GET", "/apis/apps/v1/namespaces/a/deployments/b/scale", "", "get", "apps", "v1", "a", "deployments", "scale", "b"),
    ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", "", "patch", "apps", "v1", "a", "deployments", "", "b"),
    ("DELETE", "/api/v1/namespaces/a/pods", "", "deletecollection", "", "v1", "a", "pods", "", ""),
    ("POST", "/api/v1/namespaces/a/pods", "", "create", "", "v1", "a", "pods", "", ""),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dfoo", "list", "", "v1", "", "pods", "", "foo"),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dfoo&watch=1", "watch", "", "v1", "", "pods", "", "foo"),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name!%3Dfoo", "list", "", "v1", "", "pods", "", ""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}?{case[2]}")
def test_resource_requests(case):
    method, path, query, *wanted = case
    info = resolve(method, path, parse_query(query))
    assert info.is_resource
    assert [info.verb, info.group, info.version, info.namespace, info.resource, info.subresource, info.name] == wanted


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/version", "//"])
def test_other_paths_are_not_about_resources(path):
    info = resolve("GET", path, {})
    assert info == RequestInfo("get", path)


def test_the_rest_of_a_proxy_path_is_kept():
    info = resolve("GET", "/api/v1/namespaces/a/services/web:80/proxy/some/path/", {})
    assert (info.subresource, info.name, info.rest) == ("proxy", "web:80", "/some/path/")


def test_a_watch_prefix_without_a_resource_is_refused():
    with pytest.raises(ApiError, match="unable to determine kind"):
        resolve("GET", "/api/v1/watch", {})
