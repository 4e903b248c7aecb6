"""Simulated nodes: the API's side of a kubelet, without containers. A pod that is bound to one becomes Running and Ready, ends
when it is told to, and goes when it is deleted; the node reports that it is well and keeps its Lease.

In the life of a pod this stands in the place of the kubelet: the scheduler comes before, the proxy after. `machines.py` says
what a node reports and `pods.py` what becomes of a pod next, both given the time; `fleet.py` does it for any number of nodes.

What a pod does is told by its annotations (all optional, all in the pod template):

    sim.tiphys.dev/start-seconds   how long it takes to start (0)
    sim.tiphys.dev/run-seconds     after which its containers end by themselves (never)
    sim.tiphys.dev/exit-code       with which they then end (0)
    sim.tiphys.dev/stop-seconds    how long it takes to stop (0), at most its grace period

A node with the annotation `sim.tiphys.dev/silent: "true"` says and does nothing, like a machine without power.
"""

PREFIX = "sim.tiphys.dev/"
