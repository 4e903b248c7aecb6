"""NetworkPolicies: who may send to a pod, and to whom a pod may send.

A pod that no policy selects may do everything. One that policies select, for one direction, may do what any of them allows, and
nothing else. Each node sees to its own pods, in both directions; so a connection between two nodes is judged twice.

    objects.py   what policies, pods and namespaces say
    rules.py     what follows for the pods of one node: a pure value
    render.py    that value as a table of nftables
    loop.py      the edge: follows the objects and writes the table

Always allowed: what belongs to a connection that was allowed when it began, a pod to itself, and whatever comes from the pod's
own node (probes) or goes to it: that is not passed on, and only what is passed on is looked at. While there is any policy, an
address of which the API does not know yet whose it is may not talk to others: a pod that starts is never open for a moment.
"""
