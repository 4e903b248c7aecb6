"""Traffic to Services reaches their pods: the last step of the story, once a pod is ready and its address is in a slice.

Before it: the endpoint slice controller. It turns Services and EndpointSlices into rules of the node's kernel:

    services.py, endpoints.py    what the objects say, for one address family
    rules.py                     which endpoints serve which addresses: a pure value, the same for every mode
    state.py, ledger.py          what is known, what follows from it, and what of that has changed since the last time
    nftables/, iptables/, ipvs/  rules written as a table of nftables, as chains of iptables, or as virtual servers
    conntrack.py                 UDP flows that still lead to pods that are gone
    health.py, metrics.py        whether all that works, and how fast
    apply.py, serving.py, loop.py   the edges: programs of the kernel, small HTTP servers, watching and batching
"""
