"""Paths of printer columns. v1.36.4 staging/src/k8s.io/client-go/util/jsonpath/jsonpath_test.go."""

import pytest

from tiphys.machinery.json_path import BadPath, find

OBJ = {
    "spec": {"a.b": 1, "n": 0, "list": [1, 2, 3, 4], "flag": False},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "count": 3},
            {"type": "Other", "status": "False"},
        ],
        "addresses": {"x": {"ip": "1"}, "y": {"ip": "2"}},
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.n", [0]),
        ("{.spec.flag}", [False]),
        ("$.spec.n", [0]),
        (r".spec.a\.b", [1]),
        (".spec['a.b']", [1]),
        (".spec.missing.deeper", []),
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [4]),
        (".spec.list[-1:]", [4]),
        (".spec.list[1:3]", [2, 3]),
        (".spec.list[::2]", [1, 3]),
        (".spec.list[0,2]", [1, 3]),
        (".spec.list[9]", []),
        (".spec.list[*]", [1, 2, 3, 4]),
        (".status.conditions[*].type", ["Ready", "Other"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Other')].status", ["False"]),
        ('.status.conditions[?(@.type!="Ready")].status', ["False"]),
        (".status.conditions[?(@.count)].type", ["Ready"]),
        (".status.conditions[?(@.count>2)].type", ["Ready"]),
        (".status.conditions[?(@.count<=2)].type", []),
        (".status.addresses.*.ip", ["1", "2"]),
        ("..ip", ["1", "2"]),
        (".spec['n','flag']", [0, False]),
        ("@", [OBJ]),
    ],
)
def test_what_a_path_finds(path, found):
    assert find(path, OBJ) == found


@pytest.mark.parametrize("path", [".a[", ".a[b", ".a[?(@.b==c)]", ".a[x]", ".a b"])
def test_what_is_no_path(path):
    with pytest.raises(BadPath):
        find(path, OBJ)
