"""Control loops: desired state becomes objects, and at last Pods.

In the life of a pod: the API server stored a Deployment; here it becomes a ReplicaSet, and that becomes Pods without a
node. The scheduler comes next. Each controller is one file: `observe` gathers what its decision may depend on, `reconcile`
(pure) says what to write, and `runner.py` does it.
"""
