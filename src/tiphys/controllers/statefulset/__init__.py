"""StatefulSet controller: pods with numbers. Each has its name, its volumes and its turn.

In the life of a pod it stands where the ReplicaSet controller does: before it, the API server stored the StatefulSet; after it,
the scheduler finds a pod without a node. Unlike there, a pod that is gone comes back under the same name, with the same claims.
"""

from tiphys.controllers.statefulset.controller import StatefulSetController, World

__all__ = ["StatefulSetController", "World"]
