"""How long a proxy takes for many Services, and for one change among them; beside another proxy in the same run.

python -m bench.proxy --services 10000 --compare /path/to/kube-proxy

Everything runs in a network namespace of its own, against an API server of ours that keeps its objects in memory.
"""
