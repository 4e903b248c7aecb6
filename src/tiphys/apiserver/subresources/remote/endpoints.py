"""The endpoints: load what the request names, find the place, ask admission, hand the request on."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from tiphys.api.core.endpoints import ENDPOINTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.api.kind import Kind
from tiphys.apiserver.access import attributes_of
from tiphys.apiserver.call import Call
from tiphys.apiserver.proxying import Target
from tiphys.apiserver.rest import answers
from tiphys.apiserver.subresources.remote import options, places
from tiphys.apiserver.subresources.remote.kubelets import check_reachable
from tiphys.apiserver.subresources.remote.log_socket import over_websocket
from tiphys.apiserver.subresources.remote.places import Named, Place
from tiphys.base.http.client import Incoming
from tiphys.base.http.messages import Answer, Channel, Response, Stream
from tiphys.base.http.websocket import is_websocket
from tiphys.machinery import errors
from tiphys.machinery.tree import Obj

_STREAMING = frozenset(("GET", "POST"))
_MOST_OF_A_REFUSAL = 2048
"""Bytes of a kubelet's words that are told to the client."""


async def log(call: Call) -> Answer:
    asked = options.for_log(call.query)
    name = call.info.name
    if problems := list(options.check_log(asked)):
        raise errors.invalid("", "PodLogOptions", name, problems)
    pod = await _load(call, PODS, name)
    container = places.container(pod, asked["container"])
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(204, b"", "")
    place = await _kubelet(call, node)
    remote = call.backend.remote
    path = f"/containerLogs/{call.namespace}/{name}/{container}"
    context = remote.context(to_kubelet=True, insecure=asked["insecureSkipTLSVerifyBackend"])
    target = Target(place.scheme, place.host, place.port, path, options.log_query(asked), context)
    incoming = await remote.forwarder.fetch(target)
    if not 200 <= incoming.status <= 206:
        text = (await incoming.read())[:_MOST_OF_A_REFUSAL].decode(errors="replace")
        incoming.close()
        raise places.refused_log(incoming.status, text, name)
    headers = [answers.warning_header(text) for text in call.warnings]
    if is_websocket(call.request):
        return over_websocket(call.request, incoming, headers)
    return Stream(_passing(incoming), 200, "text/plain", headers)


def _passing(incoming: Incoming) -> Callable[[Channel], Awaitable[None]]:
    async def run(channel: Channel) -> None:
        try:
            while data := await incoming.read():
                channel.write(data)
                await channel.drain()
        except ConnectionError:
            return  # the node has gone; what came of the log stays valid
        finally:
            incoming.close()

    return run


async def execute(call: Call) -> Answer:
    return await _streams(call, "exec", "PodExecOptions")


async def attach(call: Call) -> Answer:
    return await _streams(call, "attach", "PodAttachOptions")


async def _streams(call: Call, what: str, kind: str) -> Answer:
    asked = options.for_streams(call.query)
    if what == "attach":
        del asked["command"]
    await _admit(call, kind, asked)
    await _may_create(call)
    pod = await _load(call, PODS, call.info.name)
    container = places.container(pod, asked["container"])
    query = options.streams_query(asked, command=what == "exec")
    return await _to_kubelet(call, pod, f"/{what}/{call.namespace}/{call.info.name}/{container}", query)


async def port_forward(call: Call) -> Answer:
    asked = options.for_ports(call.query)
    await _admit(call, "PodPortForwardOptions", asked)
    await _may_create(call)
    pod = await _load(call, PODS, call.info.name)
    return await _to_kubelet(call, pod, f"/portForward/{call.namespace}/{call.info.name}", options.ports_query(asked))


async def _to_kubelet(call: Call, pod: Obj, path: str, query: str) -> Answer:
    node = pod["spec"].get("nodeName")
    if not node:
        raise errors.bad_request(f"pod {call.info.name} does not have a host assigned")
    place = await _kubelet(call, node)
    remote = call.backend.remote
    context = remote.context(to_kubelet=True)
    target = Target(place.scheme, place.host, place.port, path, query, context)
    return await remote.forwarder.forward(call.request, target, upgrade_required=True)


async def proxy(call: Call) -> Answer:
    """Of a pod, a service or a node."""
    kind = call.served.kind
    path = places.path_below(call.info.rest, call.info.path)
    await _admit(call, f"{kind.kind}ProxyOptions", {"path": path} if path else {})
    asked = places.named(call.info.name, kind.kind.lower())
    to_kubelet = False
    if kind.plural == "nodes":
        place, to_kubelet = await _node_place(call, asked)
    elif kind.plural == "services":
        place = await _service_place(call, asked)
    else:
        place = places.pod_place(await _load(call, PODS, asked.name), asked)
    remote = call.backend.remote
    context = remote.context(to_kubelet=to_kubelet)
    # /api/v1/namespaces/NAMESPACE/pods/NAME/proxy: how far the part goes that the target does not see.
    prefix = "/".join(call.request.path.split("/")[: 8 if kind.namespaced else 6])
    target = Target(place.scheme or "http", place.host, place.port, path, None, context, prefix=prefix)
    return await remote.forwarder.forward(call.request, target)


async def _node_place(call: Call, asked: Named) -> tuple[Place, bool]:
    place = await _kubelet(call, asked.name)
    await check_reachable(place.host)
    if asked.port in ("", str(place.port)):
        return place, True
    return Place(place.host, places.numbered(asked.port, asked.scheme), asked.scheme), False


async def _service_place(call: Call, asked: Named) -> Place:
    port_name = asked.port
    if asked.port.lstrip("+-").isdecimal():
        port_name = places.service_port_name(await _load(call, SERVICES, asked.name), asked)
    endpoints = await _load(call, ENDPOINTS, asked.name)
    if not endpoints.get("subsets"):
        raise errors.service_unavailable(f'no endpoints available for service "{asked.name}"')
    for address, port in places.service_addresses(endpoints, port_name, call.backend.chance()):
        reference = address.get("targetRef") or {}
        if reference.get("namespace") != call.namespace:
            continue
        pod = await call.backend.store.get(PODS.prefix, f"{call.namespace}/{reference.get('name', '')}")
        if pod is not None and places.belongs(address, pod.tree()):
            return Place(address["ip"], port, asked.scheme)
    raise errors.service_unavailable(f'no endpoints available for service "{call.info.name}"')


async def _kubelet(call: Call, node: str) -> Place:
    settings = call.backend.remote.settings
    return places.kubelet(await _load(call, NODES, node), settings.address_types, settings.port)


async def _load(call: Call, kind: Kind, name: str) -> Obj:
    record = await call.backend.store.get(kind.prefix, f"{call.namespace}/{name}" if kind.namespaced else name)
    if record is None:
        raise errors.not_found(kind.group, kind.plural, name)
    return record.tree()


async def _admit(call: Call, kind: str, asked: Obj) -> None:
    if call.dry_run:
        raise errors.bad_request("dryRun is not supported")
    if not kind.endswith("ProxyOptions") and call.request.method not in _STREAMING:
        raise errors.method_not_allowed()
    attributes = call.attributes("CONNECT", call.info.name, {"kind": kind, "apiVersion": "v1", **asked}, None, {})
    await call.backend.admission.admit(attributes)
    await call.backend.admission.validate(attributes)


async def _may_create(call: Call) -> None:
    """Running something in a pod takes the right to create, even where a WebSocket has to begin with a GET."""
    if call.info.verb == "create":
        return
    decision = await call.backend.authorizer.authorize(attributes_of(call.user, replace(call.info, verb="create")))
    if not decision.allowed:
        raise errors.forbidden(call.info.group, call.info.resource, call.info.name, decision.reason)
