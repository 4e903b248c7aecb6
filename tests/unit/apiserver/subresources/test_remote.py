"""The places and options of logs, exec, port-forward and proxies."""

import pytest

from tiphys.apiserver.subresources.remote import options, places
from tiphys.apiserver.subresources.remote.places import Named, Place
from tiphys.machinery.errors import ApiError
from tiphys.sim import machines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", Named("a")),
        ("a:80", Named("a", "80")),
        ("a:", Named("a")),
        ("https:a:web", Named("a", "web", "https")),
        (":a:web", Named("a", "web")),
        ("", None),
        (":80", None),
        ("ftp:a:1", None),
        ("http:a:1:2", None),
    ],
)
def test_names_with_ports(text, found):
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/net/port_split_test.go
    if found is None:
        with pytest.raises(ApiError, match="invalid pod request"):
            places.named(text, "pod")
    else:
        assert places.named(text, "pod") == found


def test_the_kubelet_of_a_node():
    # v1.36.4 pkg/kubelet/client/kubelet_client.go GetConnectionInfo, pkg/util/node/node.go
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "one"}]
    node = {"status": {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": 7}}}}
    assert places.kubelet(node) == Place("one", 7, "https")
    assert places.kubelet({"status": {"addresses": addresses}}, ("InternalIP",)) == Place("10.0.0.1", 10250, "https")
    told = r"no preferred addresses found; known addresses: \[\{InternalIP 10.0.0.1\} \{Hostname one\}\]"
    with pytest.raises(ApiError, match=told):
        places.kubelet(node, ("ExternalIP",))


def test_a_simulated_node_has_no_kubelet():
    node = {"metadata": {"name": "sim-0"}, "status": machines.node_status(0, {}, 0.0)}
    with pytest.raises(ApiError, match="node sim-0 is simulated: its pods have no containers to reach"):
        places.kubelet(node)


def test_the_port_of_a_pod():
    # v1.36.4 pkg/registry/core/pod/strategy.go ResourceLocation: the first port of the first container that has one
    pod = {"spec": {"containers": [{}, {"ports": [{"containerPort": 8}]}]}, "status": {"podIPs": [{"ip": "10.1.0.1"}]}}
    assert places.pod_place(pod, Named("p")) == Place("10.1.0.1", 8)
    assert places.pod_place(pod, Named("p", "9", "https")) == Place("10.1.0.1", 9, "https")
    without = {**pod, "spec": {"containers": [{}]}}
    assert places.pod_place(without, Named("p")) == Place("10.1.0.1", 80)


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "224.0.0.1", "0.0.0.0", "255.255.255.255"]
)
def test_where_requests_are_never_sent(address):
    # v1.36.4 pkg/registry/core/pod/strategy.go:506 (IsGlobalUnicast)
    assert not places.reachable(address)


def test_the_order_of_endpoints_is_by_chance_and_complete():
    subset = {
        "addresses": [{"ip": "1"}, {"ip": "2"}, {"ip": "3"}],
        "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}],
    }
    found = list(places.service_addresses({"subsets": [subset, {"ports": [{"name": "b", "port": 5}]}]}, "b", 0.5))
    assert [(each["ip"], port) for each, port in found] == [("2", 2), ("3", 2), ("1", 2)]


@pytest.mark.parametrize(
    ("rest", "sent", "path"),
    [
        ("", "/p/proxy", ""),
        ("", "/p/proxy/", "/"),
        ("/a//b", "/p/proxy/a//b", "/a/b"),
        ("/a/../../b", "/p/proxy/a/../../b", "/b"),
        ("/a b?c/", "/p/proxy/a b?c/", "/a%20b%3Fc/"),
    ],
)
def test_the_path_for_the_target(rest, sent, path):
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go getRequestOptions
    assert places.path_below(rest, sent) == path


@pytest.mark.parametrize(
    ("query", "problems"),
    [
        ({}, []),
        ({"tailLines": ["-1"]}, ["tailLines: Invalid value: -1: must be greater than or equal to 0"]),
        ({"limitBytes": ["0"]}, ["limitBytes: Invalid value: 0: must be greater than 0"]),
        ({"sinceSeconds": ["0"]}, ["sinceSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"sinceSeconds": ["1"], "sinceTime": ["2026-01-01T00:00:00Z"]},
            [": Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"],
        ),
        ({"stream": ["Both"]}, ['stream: Unsupported value: "Both": supported values: "All", "Stderr", "Stdout"']),
        (
            {"stream": ["Stdout"], "tailLines": ["1"]},
            [": Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"],
        ),
    ],
)
def test_what_is_wrong_with_log_options(query, problems):
    # v1.36.4 pkg/apis/core/validation/validation.go ValidatePodLogOptions
    assert [str(each) for each in options.check_log(options.for_log(query))] == problems


def test_options_for_the_node():
    # v1.36.4 pkg/registry/core/pod/strategy.go LogLocation, streamParams
    query = {"follow": ["1"], "previous": ["false"], "tailLines": ["3"], "sinceTime": ["2026-01-01T01:00:00+01:00"]}
    assert options.log_query(options.for_log(query)) == "follow=true&sinceTime=2026-01-01T00%3A00%3A00Z&stream=All&tailLines=3"
    asked = options.for_streams({"command": ["b", "a"], "stdin": ["true"], "tty": ["1"], "stdout": ["0"]})
    assert options.streams_query(asked, command=True) == "command=b&command=a&input=1&tty=1"
    assert options.ports_query(options.for_ports({"ports": ["80,81", "82"]})) == "port=80%2C81%2C82"
    for wrong in ("x", "65536", ""):
        with pytest.raises(ApiError, match=r"cannot convert to \[\]int32"):
            options.for_ports({"ports": [wrong]})


def test_refusals_of_kubelets():
    # v1.36.4 staging/src/k8s.io/apiserver/pkg/registry/generic/rest/response_checker.go
    assert places.refused_log(400, "not yet", "p").message == "not yet"
    assert places.refused_log(500, "broken", "p").message == "Internal error occurred: broken"
    assert places.refused_log(404, "x", "p").message == "the server could not find the requested resource ( pods/log p)"
    told = 'an error on the server ("x") has prevented the request from succeeding ( pods/log p)'
    assert places.refused_log(502, "x", "p").message == told
