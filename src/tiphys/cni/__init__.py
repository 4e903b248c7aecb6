"""Pods of all nodes reach each other: addresses, routes between nodes, and who may talk to whom.

In the life of a pod this is where its network namespace gets an address. Before it: the kubelet asked the runtime for a
sandbox, and the runtime calls the standard plugins (bridge, host-local, portmap, loopback) as told in a file that is written
here. After it: the pod is reached from every node, under its own address, and NetworkPolicies say by whom.

    config.py       what the runtime's plugins are told
    plan.py         Nodes become routes, neighbours and an overlay: a pure value
    masquerade.py   what leaves the cluster goes by the node's address
    table.py        rules of the kernel as a value, and the transaction that leads from one to another
    policy/         NetworkPolicies
    kernel.py       the edge: links, routes and neighbours by netlink, rules by nft
    loop.py         the edge: follows the Nodes, and brings this node after them
"""
