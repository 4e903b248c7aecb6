"""Files become pods of a node, and these get mirrors (pkg/kubelet/config/common.go, pkg/kubelet/pod/mirror_client.go)."""

import pytest

from tiphys.kubelet.static.manifests import BadManifest, fetched_pods, is_static, mirror, original, static_pod

FILE = b"""
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: c, image: "web:1"}]
"""
NODE = {"metadata": {"name": "node-1", "uid": "n"}}


def made(text=FILE, place="/manifests/web.yaml"):
    return static_pod(text, place, "node-1", 1000.0)


def test_a_file_becomes_a_pod_of_the_node_with_defaults():
    pod = made()
    assert (pod["metadata"]["name"], pod["metadata"]["namespace"], pod["spec"]["nodeName"]) == (
        "web-node-1",
        "default",
        "node-1",
    )
    assert pod["spec"]["restartPolicy"] == "Always"
    assert pod["spec"]["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
    assert pod["metadata"]["annotations"]["kubernetes.io/config.hash"] == pod["metadata"]["uid"]
    assert is_static(pod)


def test_the_same_file_is_the_same_pod_and_another_one_is_not():
    assert made()["metadata"]["uid"] == static_pod(FILE, "/manifests/web.yaml", "node-1", 2000.0)["metadata"]["uid"]
    assert made()["metadata"]["uid"] != made(FILE.replace(b"web:1", b"web:2"))["metadata"]["uid"]
    assert made()["metadata"]["uid"] != made(place="/manifests/other.yaml")["metadata"]["uid"]


def test_a_mirror_belongs_to_the_node_and_says_what_it_mirrors():
    shown = mirror(made(), NODE)
    assert original(shown) == made()["metadata"]["uid"]
    assert original(made()) == ""
    assert shown["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "n", "controller": True}
    ]
    assert "uid" not in shown["metadata"]


@pytest.mark.parametrize(
    "text",
    [
        b"kind: Service\napiVersion: v1",
        b"[]",
        b"a: b: c",
        FILE.replace(b"name: c,", b""),
        b"kind: Pod\napiVersion: v1\nspec: 3",
    ],
)
def test_what_is_no_pod_is_said(text):
    with pytest.raises(BadManifest):
        made(text)


LIST = b"""
apiVersion: v1
kind: PodList
items:
- metadata: {name: one, namespace: here}
  spec: {containers: [{name: c, image: "web:1"}]}
- metadata: {name: two}
  spec: {containers: [{name: c, image: "web:2"}]}
"""
URL = "http://where/pods"


def test_a_page_says_one_pod_or_several():
    (pod,) = fetched_pods(FILE, URL, "node-1", 1000.0)
    assert (pod["metadata"]["name"], pod["metadata"]["annotations"]["kubernetes.io/config.source"]) == ("web-node-1", "http")
    # Only pods of files bear whatever is wrong with the node.
    assert not pod["spec"].get("tolerations")
    several = fetched_pods(LIST, URL, "node-1", 1000.0)
    assert [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in several] == [
        ("here", "one-node-1"),
        ("default", "two-node-1"),
    ]
    assert len({each["metadata"]["uid"] for each in (pod, *several)}) == 3
    assert fetched_pods(b"apiVersion: v1\nkind: PodList", URL, "node-1", 1000.0) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LIST.replace(b"name: two", b"a: b"), "invalid pod: name is needed for the pod"),
        (LIST.replace(b'image: "web:2"', b"a: b"), "invalid pod: "),
        (b"kind: Service\napiVersion: v1", "couldn't parse as single"),
        (b"kind: PodList\napiVersion: v1\nitems: [3]", "items"),
        (b"just words", "not an object"),
    ],
)
def test_one_bad_pod_of_a_page_spoils_all_of_it(text, words):
    with pytest.raises(BadManifest, match=words):
        fetched_pods(text, URL, "node-1", 1000.0)
