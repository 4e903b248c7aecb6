"""What the server itself has to say below /explain/: its own part in the story of a pod, and that of the pod's kubelet.

/explain/requests/NAMESPACE/POD    the requests that wrote something about it
/explain/kubelet/NAMESPACE/POD     what its node does for it; `?node=NAME` of a pod that is gone
"""

from urllib.parse import parse_qs, quote, unquote

import orjson

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.apiserver.call import Backend
from tiphys.apiserver.proxying import Target
from tiphys.apiserver.subresources.remote import places
from tiphys.base.http.messages import Response
from tiphys.machinery import errors

_MOST = 4 << 20


class Explainers:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def requests(self, path: str, _query: str) -> Response:
        key = unquote(path).strip("/")
        return Response(200, orjson.dumps({"pod": key, "requests": self._backend.pod_requests.of(key)}))

    async def kubelet(self, path: str, query: str) -> Response:
        """Raises ApiError 404 where there is no such pod, it has no node, or its kubelet does not know it."""
        key = unquote(path).strip("/")
        node = parse_qs(query).get("node", [""])[0] or await self._node_of(key)
        record = await self._backend.store.get(NODES.prefix, node)
        if record is None:
            raise errors.not_found("", "nodes", node)
        remote = self._backend.remote
        settings = remote.settings
        place = places.kubelet(record.tree(), settings.address_types, settings.port)
        target = Target(place.scheme, place.host, place.port, f"/explain/{quote(key)}", "", remote.context(to_kubelet=True))
        incoming = await remote.forwarder.fetch(target)
        try:
            body = b""
            while (more := await incoming.read()) and len(body) < _MOST:
                body += more
        finally:
            incoming.close()
        if incoming.status == 200:
            return Response(200, body)
        raise errors.not_found("", "pods of its kubelet", key)

    async def _node_of(self, key: str) -> str:
        record = await self._backend.store.get(PODS.prefix, key)
        node = record.tree()["spec"].get("nodeName") if record is not None else ""
        if not node:
            raise errors.not_found("", "pods on nodes", key)
        return str(node)
