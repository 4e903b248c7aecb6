"""EndpointSlice controller: which addresses a Service stands for, in slices of at most a hundred.

In the life of a pod: it runs and is ready, and now it gets work. Before it: the kubelet reported the pod's address. After it:
the proxy turns slices into rules.
"""

from tiphys.controllers.endpointslice.controller import EndpointSliceController, World

__all__ = ["EndpointSliceController", "World"]
