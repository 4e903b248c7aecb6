from pathlib import PurePath

import pytest

from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes.plan import PodFolder, SubPath, hosts_file, kind_of, mounts

FOLDER = PodFolder(PurePath("/k/pods/u"))


def pod(volumes=(), **spec):
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"containers": [], "volumes": list(volumes), **spec},
    }


def test_mounts_of_a_container():
    # v1.36.4 pkg/kubelet/kubelet_pods.go, makeMounts
    given = pod([{"name": "e", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/h"}}, {"name": "c", "configMap": {}}])
    container = {
        "name": "a",
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [
            {"name": "e", "mountPath": "/e", "subPathExpr": "$(POD)/x"},
            {"name": "h", "mountPath": "h", "mountPropagation": "HostToContainer", "readOnly": True},
            {"name": "c", "mountPath": "/c"},
        ],
    }
    made = {each["container_path"]: each for each in mounts(given, container, FOLDER, 2, {"POD": "p"})}
    assert made["/e"]["sub_path"] == SubPath(PurePath("/k/pods/u/volumes/kubernetes.io~empty-dir/e"), "p/x")
    assert made["/h"] == {"container_path": "/h", "host_path": "/h", "readonly": True, "propagation": 1}
    assert made["/c"]["readonly"]
    assert made["/etc/hosts"]["host_path"] == "/k/pods/u/etc-hosts"
    assert made["/dev/termination-log"]["host_path"] == "/k/pods/u/containers/a/2"


def test_the_hosts_file_is_not_ours_where_it_is_mounted():
    own = {"name": "a", "volumeMounts": [{"name": "e", "mountPath": "/etc/hosts"}]}
    assert len(mounts(pod([{"name": "e", "emptyDir": {}}]), own, FOLDER, 0, {})) == 1


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        ({"readOnly": True, "recursiveReadOnly": "Enabled"}, "supported by the runtime"),
        ({"recursiveReadOnly": "IfPossible"}, "not read-only"),
        ({"readOnly": True, "recursiveReadOnly": "IfPossible", "mountPropagation": "Bidirectional"}, "propagation"),
        ({"readOnly": True, "recursiveReadOnly": "IfPossible"}, ""),
    ],
)
def test_recursively_read_only(mount, words):
    # v1.36.4 pkg/kubelet/kubelet_pods_test.go, TestResolveRecursiveReadOnly
    container = {"name": "a", "volumeMounts": [{"name": "e", "mountPath": "/e", **mount}]}
    given = pod([{"name": "e", "emptyDir": {}}])
    if words:
        with pytest.raises(CannotMake, match=words):
            mounts(given, container, FOLDER, 0, {})
    else:
        assert mounts(given, container, FOLDER, 0, {})[0]["readonly"]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("$(NO)/$(EMPTY)/$(NAME)", "^missing value for EMPTY, NO$"),
        ("$(ABSOLUTE)", "^error SubPath `/tmp` must not be an absolute path$"),
        ("$(NAME)/$(UP)", "^unable to provision SubPath `a/..`: must not contain '..'$"),
    ],
)
def test_an_expression_that_leads_nowhere_or_outside(expression, words):
    # v1.36.4 pkg/kubelet/kubelet_pods.go, makeMounts; pkg/kubelet/container/helpers.go, ExpandContainerVolumeMounts
    container = {"name": "a", "volumeMounts": [{"name": "e", "mountPath": "/e", "subPathExpr": expression}]}
    variables = {"EMPTY": "", "NAME": "a", "ABSOLUTE": "/tmp", "UP": ".."}
    with pytest.raises(CannotMake, match=words):
        mounts(pod([{"name": "e", "emptyDir": {}}]), container, FOLDER, 0, variables)


def test_an_expression_may_have_dollar_signs_of_its_own():
    container = {"name": "a", "volumeMounts": [{"name": "e", "mountPath": "/e", "subPathExpr": "$$(NO)-$(NAME)"}]}
    made = mounts(pod([{"name": "e", "emptyDir": {}}]), container, FOLDER, 0, {"NAME": "$(x)"})
    assert made[0]["sub_path"].part == "$(NO)-$(x)"


def test_volumes_that_nobody_here_makes_are_refused():
    assert kind_of({"name": "v"}) == "emptyDir"
    with pytest.raises(CannotMake, match="no volume plugin matched"):
        kind_of({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})


def test_hosts_file():
    # https://kubernetes.io/docs/tasks/network/customize-hosts-file-for-pods/
    given = pod(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["foo.local", "bar.local"]}])
    text = hosts_file(given, ("10.0.0.5",), "p", "sub.d.svc.cluster.local")
    assert text.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert "10.0.0.5\tp.sub.d.svc.cluster.local\tp\n" in text
    assert text.endswith("# Entries added by HostAliases.\n1.2.3.4\tfoo.local\tbar.local\n")
    given["spec"]["hostNetwork"] = True
    text = hosts_file(given, ("10.0.0.5",), "p", "", "127.0.0.1 machine\n")
    assert text.startswith("# Kubernetes-managed hosts file (host network).\n127.0.0.1 machine\n\n# Entries added")
