"""Node lifecycle: a node that has fallen silent is declared so, and its conditions become taints.

In the life of a pod this is what lets it onto a fresh node (whose not-ready taint goes once the kubelet reports Ready) and
what makes the taint eviction controller move it away from a dead one. How many nodes may lose their pods at a time is for
`zones.py` to say.
"""

from tiphys.controllers.node_lifecycle.controller import NodeLifecycleController, World, decide, wanted_taints
from tiphys.controllers.node_lifecycle.settings import NodeLifecycleSettings

__all__ = ["NodeLifecycleController", "NodeLifecycleSettings", "World", "decide", "wanted_taints"]
