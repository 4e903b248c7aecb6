"""When the node runs short of memory, disk or processes it ends pods, before the kernel ends what it likes.

    signals.py   thresholds, and since when which of them are met: conditions of the node, and what has to be won back
    ranking.py   whose turn it is, and in which words
    usage.py     what pods use
    manager.py   looks every ten seconds

https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
"""
