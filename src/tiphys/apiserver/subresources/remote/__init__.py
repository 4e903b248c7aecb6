"""pods/log, exec, attach, portforward and every `proxy`: requests that a node, a pod or a service answers.

The authorized request becomes a place (`places`) and a query for it (`options`); `Remote` has what it takes to get there.
"""

from tiphys.apiserver.subresources.remote.endpoints import attach, execute, log, port_forward, proxy
from tiphys.apiserver.subresources.remote.kubelets import KubeletSettings, Remote

__all__ = ["KubeletSettings", "Remote", "attach", "execute", "log", "port_forward", "proxy"]
