"""Chooses a node for each pod.

Before: a controller (or a person) has created the pod, and it has no node. Here: `loop` hears of it and puts it into the
`queue`; `cycle` filters and scores all nodes of the `node_table` at once; the pod is assumed to be on the best one, and
`binding` tells the API server. After: the kubelet of that node sees a pod that is its own, and starts it.
"""
