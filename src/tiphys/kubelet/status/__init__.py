"""From what the runtime says of a pod to the status that the API shows."""

from tiphys.kubelet.status.pod import Given, Verdict, pod_status, until_ended

__all__ = ["Given", "Verdict", "pod_status", "until_ended"]
