"""DaemonSet controller: one pod on every node that fits.

In the life of a pod it stands where the ReplicaSet controller does. It chooses the nodes, not the scheduler: each pod asks by
affinity for the one node that it is meant for, and the scheduler only finds out whether there is room.
"""

from tiphys.controllers.daemonset.controller import DaemonSetController, World

__all__ = ["DaemonSetController", "World"]
