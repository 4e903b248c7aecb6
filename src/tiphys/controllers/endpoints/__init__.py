"""Endpoints, the older telling of where a Service's traffic goes: written for Services that select pods, and read into
EndpointSlices where somebody else wrote them."""

from tiphys.controllers.endpoints.controller import EndpointsController
from tiphys.controllers.endpoints.mirroring import EndpointSliceMirroring

__all__ = ["EndpointSliceMirroring", "EndpointsController"]
