"""The kubelet: makes the pods of one node run, and says how they are.

In the life of a pod this is the step after the scheduler has written `spec.nodeName`. Here the pod gets its volumes, its
sandbox (the network comes with it, by CNI) and its containers; probes watch them, and what they are is written back as
`status`. After it: the EndpointSlice controller sees a Ready address, and the proxy sends traffic there.

    source.py       which pods are assigned to this node
    pods/           one worker a pod: lifecycle (a table), actions (a decision), workers (the doing)
    pleg.py         what changed in the runtime since the last look
    status.py       from what the runtime says to what the API shows
    probes/         is a container alive, ready, started
    volumes/        what stands in a pod's files and how it gets there
    cri/            the container runtime, over gRPC
    eviction/       whose pod goes when the node runs short, and when
    images.py       which images are fetched, and which are taken away again
    containerd/     a containerd of our own, under the data directory
    node/           the Node object and its Lease
    server/         logs, exec, attach and port-forward for the API server
"""
