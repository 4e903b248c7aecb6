"""Names of Services and pods: the last thing a client needs before it can reach a pod.

Before it: Services and their EndpointSlices. It answers for one zone (cluster.local) and for reverse names of addresses it
knows, by the specification that CoreDNS follows; every other name is asked of the resolvers that the node itself uses, or
of those that a ConfigMap names.

    wire.py       messages as bytes: names, records, queries, answers
    records.py    objects -> the records of each Service
    zone.py       the table of ready answers, kept up to date; a query in, an answer out
    cache.py      what other resolvers said, for a while
    routes.py     which resolvers are asked about names that are not the cluster's
    forward.py, server.py, service.py   the edges: sockets, and following the API server
"""
