import pytest

from tiphys.kubelet.pods.deadline import active_left
from tiphys.machinery import times


@pytest.mark.parametrize(("limit", "left"), [(None, float("inf")), (60, 50.0), (5, -5.0)])
def test_time_left(limit, left):
    # v1.36.4 pkg/kubelet/active_deadline.go
    began = "2026-01-02T03:04:05Z"
    pod = {"spec": {"activeDeadlineSeconds": limit}, "status": {"startTime": began}}
    assert active_left(pod, times.parse(began) + 10) == left
    assert active_left({"spec": {"activeDeadlineSeconds": 1}}, 0.0) == float("inf")
