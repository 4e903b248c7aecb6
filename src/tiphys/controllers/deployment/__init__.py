"""Deployment controller: the step that turns a Deployment into ReplicaSets, one for each template it has had.

In the life of a pod this is the first controller. Before it: the API server stored the Deployment. After it: the ReplicaSet
controller makes the pods.
"""

from tiphys.controllers.deployment.controller import DeploymentController, World

__all__ = ["DeploymentController", "World"]
