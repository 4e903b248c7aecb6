"""A pod with scheduling gates waits until somebody has removed them."""

from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base
from tiphys.scheduler.pod_info import PodInfo


class SchedulingGates(Base):
    name = "SchedulingGates"
    unblocked_by = Event.POD_GATES_GONE

    def gate(self, pod: PodInfo) -> str:
        if not pod.gated:
            return ""
        names = " ".join(each.get("name", "") for each in pod.obj["spec"]["schedulingGates"])
        return f"waiting for scheduling gates: [{names}]"

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        return change.concerns(pod)
