"""Tiphys: Kubernetes v1.36, written in Python.

The packages are the words of the pod-creation story; docs/life-of-a-pod.md walks through them in order.
"""

__version__ = "0.1.0"

KUBERNETES_VERSION = "v1.36.4"
