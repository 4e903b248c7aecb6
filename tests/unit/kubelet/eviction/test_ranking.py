"""Whose turn it is (https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#pod-selection-for-kubelet-eviction)."""

import pytest

from tiphys.kubelet.eviction.ranking import ContainerUsage, Usage, low_on, over_own_limit, ranked
from tiphys.kubelet.eviction.signals import Observation, Threshold

MI = 1 << 20


def pod(name, request=None, priority=0, *, limits=None, volumes=()):
    resources = {"requests": {"memory": request} if request else {}, "limits": limits or {}}
    spec = {"priority": priority, "containers": [{"name": "c", "resources": resources}], "volumes": list(volumes)}
    return {"metadata": {"name": name}, "spec": spec}


def order(resource, *pairs):
    return [each["metadata"]["name"] for each, _ in ranked(resource, pairs)]


def test_above_its_request_then_priority_then_by_how_much():
    # v1.36.4 pkg/kubelet/eviction/helpers_test.go, TestOrderedByPriorityMemory
    assert order(
        "memory",
        (pod("within", "100Mi"), Usage(memory=90 * MI)),
        (pod("important", priority=9), Usage(memory=500 * MI)),
        (pod("little"), Usage(memory=10 * MI)),
        (pod("much"), Usage(memory=20 * MI)),
        (pod("asked for most of it", "100Mi"), Usage(memory=105 * MI)),
        (pod("unknown"), None),
    ) == ["unknown", "much", "little", "asked for most of it", "important", "within"]


def test_processes_by_priority_first():
    assert order(
        "pids", (pod("few"), Usage(pids=1)), (pod("many"), Usage(pids=9)), (pod("important", priority=1), Usage(pids=99))
    ) == ["many", "few", "important"]


def test_disk_and_files():
    pairs = (pod("a"), Usage(disk=1, inodes=9)), (pod("b"), Usage(disk=2, inodes=3))
    assert order("ephemeral-storage", *pairs) == ["b", "a"]
    assert order("inodes", *pairs) == ["a", "b"]


def test_the_words():
    usage = Usage(memory=3 * MI, containers={"c": ContainerUsage(memory=3 * MI)})
    told = low_on("memory", pod("p", "1Mi"), usage, Threshold("memory.available", "100Mi"), Observation(50 * MI, 1 << 30))
    assert told == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
        "Container c was using 3Mi, request is 1Mi, has larger consumption of memory. "
    )


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (Usage(volumes={"v": 2 * MI}), 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '),
        (Usage(disk=9 * MI), "Pod ephemeral local storage usage exceeds the total limit of containers 8Mi. "),
        (
            Usage(disk=8 * MI, containers={"c": ContainerUsage(disk=9 * MI)}),
            'Container c exceeded its local ephemeral storage limit "8Mi". ',
        ),
        (Usage(disk=8 * MI, volumes={"v": MI}), ""),
    ],
)
def test_its_own_limits(usage, told):
    # v1.36.4 pkg/kubelet/eviction/eviction_manager.go, localStorageEviction
    given = pod("p", limits={"ephemeral-storage": "8Mi"}, volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}])
    assert over_own_limit(given, usage) == told
