"""Events of a node (v1.36.4 pkg/kubelet/nodestatus/setters.go)."""

from tiphys.kubelet.node import news


def status(boot="b", **conditions):
    listed = [{"type": kind, "status": value} for kind, value in conditions.items()]
    return {"nodeInfo": {"bootID": boot}, "conditions": listed}


def reasons(before, after):
    return [each.reason for each in news.of_status("n1", {"status": before}, after)]


def test_a_new_node():
    # That it is ready at once is not told: readyConditionUpdated.
    after = status(MemoryPressure="False", DiskPressure="False", PIDPressure="False", Ready="True")
    assert reasons({}, after) == ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]
    assert reasons(after, after) == []


def test_what_changes_is_told():
    before = status(MemoryPressure="False", Ready="Unknown")
    found = list(news.of_status("n1", {"status": before}, status(MemoryPressure="True", Ready="True")))
    assert found == [
        ("Normal", "NodeHasInsufficientMemory", "Node n1 status is now: NodeHasInsufficientMemory"),
        ("Normal", "NodeReady", "Node n1 status is now: NodeReady"),
    ]
    assert reasons(status(Ready="True"), status(Ready="False")) == ["NodeNotReady"]


def test_another_boot():
    found = list(news.of_status("n1", {"status": status("one")}, status("two")))
    assert found == [("Warning", "Rebooted", "Node n1 has been rebooted, boot id: two")]


def test_a_cordon():
    assert news.of_cordon("n1", cordoned=True) == ("Normal", "NodeNotSchedulable", "Node n1 status is now: NodeNotSchedulable")
    assert news.of_cordon("n1", cordoned=False).reason == "NodeSchedulable"
