"""Resource claim controller: a claim for each template that a pod names, and the end of claims that nobody needs any more.

In the life of a pod that wants devices: here its claims come about; the scheduler then finds devices for them, together with a
node; here they are given back when the pod has ended.
"""

from tiphys.controllers.resource_claim.controller import ResourceClaimController

__all__ = ["ResourceClaimController"]
