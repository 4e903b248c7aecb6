"""Strategic merge. Authority: v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go and its tests."""

import pytest

from tiphys.machinery.errors import ApiError
from tiphys.machinery.patch import strategic
from tiphys.machinery.tree import copy

POD = "io.k8s.api.core.v1.Pod"
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
SECRET = "io.k8s.api.core.v1.Secret"
CSR = "io.k8s.api.certificates.v1.CertificateSigningRequest"
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


def containers(*each):
    return {"spec": {"containers": list(each)}}


def box(name, **more):
    return {"name": name, **more}


CASES = {
    "scalars and maps": (
        POD,
        {"metadata": {"labels": {"a": "1", "b": "2"}}},
        {"metadata": {"labels": {"a": "3", "b": None, "c": None}}},
        {"metadata": {"labels": {"a": "3"}}},
    ),
    "a list of maps merges by key, changes where it stands": (
        POD,
        containers(box("a", image="1"), box("b", image="2")),
        containers(box("b", image="3")),
        containers(box("a", image="1"), box("b", image="3")),
    ),
    # mergeSortedSlice: what is new comes before what only the server has.
    "a new element comes first": (
        POD,
        containers(box("a"), box("b")),
        containers(box("c", image="x")),
        containers(box("c", image="x"), box("a"), box("b")),
    ),
    "a list without a strategy is replaced": (
        POD,
        containers(box("a", args=["x", "y"])),
        containers(box("a", args=["z"])),
        containers(box("a", args=["z"])),
    ),
    "delete an element": (
        POD,
        containers(box("a"), box("b")),
        containers({"$patch": "delete", "name": "a"}),
        containers(box("b")),
    ),
    "replace a list": (
        POD,
        containers(box("a"), box("b")),
        containers(box("c"), {"$patch": "replace"}),
        containers(box("c")),
    ),
    "replace an object": (
        POD,
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"$patch": "replace", "b": "2"}}},
        {"metadata": {"labels": {"b": "2"}}},
    ),
    "delete an object": (
        POD,
        {"spec": {"securityContext": {"runAsUser": 1}}},
        {"spec": {"securityContext": {"$patch": "delete"}}},
        {"spec": {"securityContext": {}}},
    ),
    "a directive where nothing was": (POD, {"spec": {}}, {"spec": {"securityContext": {"$patch": "delete"}}}, {"spec": {}}),
    "nulls of a new object are dropped": (
        POD,
        {},
        {"spec": {"securityContext": {"a": None}}},
        {"spec": {"securityContext": {}}},
    ),
    "order directive moves": (
        POD,
        containers(box("a"), box("b"), box("c")),
        {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}},
        # b, which the directive does not name, still comes before c as it did.
        containers(box("b"), box("c"), box("a")),
    ),
    "order directive with additions and server-only elements": (
        POD,
        containers(box("a"), box("sidecar"), box("b")),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}, {"name": "new"}, {"name": "b"}],
                "containers": [box("new", image="i")],
            }
        },
        containers(box("a"), box("new", image="i"), box("sidecar"), box("b")),
    ),
    # Seen on a real server: upstream compacts and refills the live list, and orders the result by what is left of it.
    "order directive with a deletion and an addition": (
        "io.k8s.api.core.v1.Service",
        {"spec": {"ports": [{"port": 443}, {"port": 80}, {"port": 53}]}},
        {
            "spec": {
                "$setElementOrder/ports": [{"port": 8080}, {"port": 80}],
                "ports": [{"$patch": "delete", "port": 443}, {"port": 8080}],
            }
        },
        {"spec": {"ports": [{"port": 53}, {"port": 8080}, {"port": 80}]}},
    ),
    "primitives merge": (
        POD,
        {"metadata": {"finalizers": ["a/x", "a/y"]}},
        {"metadata": {"finalizers": ["a/z", "a/x"]}},
        {"metadata": {"finalizers": ["a/z", "a/x", "a/y"]}},
    ),
    "primitives are deleted by a parallel list": (
        POD,
        {"metadata": {"finalizers": ["a/x", "a/y"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x", "a/q"]}},
        {"metadata": {"finalizers": ["a/y"]}},
    ),
    "primitives: delete, add and order": (
        POD,
        {"metadata": {"finalizers": ["a/x", "a/y"]}},
        {
            "metadata": {
                "$deleteFromPrimitiveList/finalizers": ["a/x"],
                "$setElementOrder/finalizers": ["a/z", "a/y"],
                "finalizers": ["a/z"],
            }
        },
        {"metadata": {"finalizers": ["a/z", "a/y"]}},
    ),
    "retainKeys of an object": (
        DEPLOYMENT,
        {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"strategy": {"type": "Recreate"}}},
    ),
    "retainKeys of an element": (
        POD,
        {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        {"spec": {"volumes": [{"$retainKeys": ["name", "hostPath"], "name": "v", "hostPath": {"path": "/"}}]}},
        {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}},
    ),
    "int-or-string changes its type": (
        DEPLOYMENT,
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%"}}}},
        {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%"}}}},
    ),
    "the merge key may be a number": (
        POD,
        containers(box("a", ports=[{"containerPort": 80, "name": "x"}, {"containerPort": 81}])),
        containers(box("a", ports=[{"containerPort": 80, "name": "y"}])),
        containers(box("a", ports=[{"containerPort": 80, "name": "y"}, {"containerPort": 81}])),
    ),
    "conditions": (
        POD,
        {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}},
        {
            "status": {
                "$setElementOrder/conditions": [{"type": "A"}, {"type": "B"}, {"type": "C"}],
                "conditions": [{"type": "B", "status": "False"}, {"type": "C", "status": "True"}],
            }
        },
        {
            "status": {
                "conditions": [
                    {"type": "A", "status": "True"},
                    {"type": "B", "status": "False"},
                    {"type": "C", "status": "True"},
                ]
            }
        },
    ),
    "nothing": (POD, containers(box("a")), {}, containers(box("a"))),
}

ERRORS = {
    "no merge key": (
        POD,
        containers(box("a")),
        containers({"image": "x"}),
        (500, "map: map[image:x] does not contain declared merge key: name"),
    ),
    "unknown directive": (
        POD,
        {"metadata": {"labels": {"a": "1"}}},
        {"metadata": {"labels": {"$patch": "merge", "b": "2"}}},
        (500, "unknown patch type: merge in map: map[$patch:merge b:2]"),
    ),
    "merge directive in a list": (
        POD,
        containers(box("a")),
        containers({"$patch": "merge", "name": "a"}),
        (500, "merging lists cannot yet be specified in the patch"),
    ),
    "list of lists": (
        POD,
        {"metadata": {"finalizers": []}},
        {"metadata": {"finalizers": [["a"]]}},
        (422, "the server rejected our request due to an error in our request"),
    ),
    "mixed elements": (
        POD,
        {"metadata": {"finalizers": ["a"]}},
        {"metadata": {"finalizers": [1]}},
        (500, "list element types are not identical: [[a] [1]]"),
    ),
    "retainKeys without the key": (
        DEPLOYMENT,
        {"spec": {"strategy": {"type": "Recreate"}}},
        {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}},
        (400, "invalid patch format of retainKeys"),
    ),
    "delete directive without a list": (
        POD,
        {"metadata": {"finalizers": ["a"]}},
        {"metadata": {"$deleteFromPrimitiveList": ["a"]}},
        (400, "invalid patch format of primitive list"),
    ),
    "order that does not match": (
        POD,
        containers(box("a"), box("b")),
        {"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [box("b")]}},
        (
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ),
    "objects in a map have no merge type": (
        CRD,
        {"spec": {"versions": [], "names": {}, "conversion": {"webhook": {"clientConfig": {"service": {"name": "a"}}}}}},
        {"spec": {"names": {"$patch": "spin"}}},
        (500, "unknown patch type: spin in map: map[$patch:spin]"),
    ),
    "lists in a map": (
        CSR,
        {"spec": {"extra": {"a": ["x"]}}},
        {"spec": {"extra": {"a": ["y"]}}},
        (500, "merging an object in json but data type is not struct, instead is: map"),
    ),
    "not an object": (POD, {}, [1], (400, "json: cannot unmarshal array into Go value of type map[string]interface {}")),
}


@pytest.mark.parametrize(("definition", "tree", "patch", "expected"), CASES.values(), ids=CASES)
def test_applies(schemas, definition, tree, patch, expected):
    before = copy(tree), copy(patch)
    assert strategic.apply(tree, patch, schemas.node(definition)) == expected
    assert (tree, patch) == before


@pytest.mark.parametrize(("definition", "tree", "patch", "expected"), ERRORS.values(), ids=ERRORS)
def test_refuses(schemas, definition, tree, patch, expected):
    before = copy(tree), copy(patch)
    with pytest.raises(ApiError) as caught:
        strategic.apply(tree, patch, schemas.node(definition))
    assert (caught.value.code, caught.value.message) == expected
    assert (tree, patch) == before


def test_copies_only_the_spine(schemas):
    tree = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [box("a")]}, "status": {"conditions": []}}
    patched = strategic.apply(tree, {"status": {"phase": "Running"}}, schemas.node(POD))
    assert patched["metadata"] is tree["metadata"]
    assert patched["spec"] is tree["spec"]
    assert patched["status"]["conditions"] is tree["status"]["conditions"]
