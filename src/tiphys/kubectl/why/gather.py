"""Asks the API server for what is known of a pod. Decides nothing."""

from typing import Any
from urllib.parse import quote

import orjson

from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.events import EVENTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.kind import Kind
from tiphys.base.clock import Clock
from tiphys.client.rest import RestClient
from tiphys.kubectl.why import crashing, reporting
from tiphys.kubectl.why.facts import Facts
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_LEASES_ARE_IN = "kube-node-lease"
_LOG_LINES = 10
_UNEXPLAINED = "The scheduler of this cluster does not explain itself through the API server."
_FORGOTTEN = "The scheduler knows nothing of this pod; perhaps it is for another one: spec.schedulerName is {name}."
_FORBIDDEN = "You may not read the scheduler's decisions; the ClusterRole tiphys:explainer would allow it."


async def about_pod(client: RestClient, namespace: str, name: str, clock: Clock, nodes: int = 0) -> Facts:
    """ApiError where there is no such pod. `nodes`: how many of them the scheduler lists; 0 is as it likes."""
    pod = await client.get(PODS, name, namespace)
    scheduling, silence = await _scheduling(client, pod, nodes)
    node = pod["spec"].get("nodeName") or ""
    return Facts(
        pod,
        clock.now(),
        await _events(client, pod),
        await _read(client, NODES, node),
        scheduling,
        silence,
        await kubelet_of(client, pod),
        await _read(client, LEASES, node, _LEASES_ARE_IN),
        {each["name"]: await _last_lines(client, pod, each) for each in reporting.statuses(pod) if crashing.fails(each)},
    )


async def _events(client: RestClient, pod: Obj) -> list[Obj]:
    uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
    try:
        found = await client.list(EVENTS, namespace, fields=f"involvedObject.uid={uid}")
    except ApiError as problem:
        if problem.code != 403:
            raise
        return []
    return sorted(found.items, key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")


async def _read(client: RestClient, kind: Kind, name: str, namespace: str = "") -> Obj | None:
    """Where there is one that the user may see."""
    if not name:
        return None
    try:
        return await client.get(kind, name, namespace)
    except ApiError as problem:
        if problem.code not in (403, 404):
            raise
        return None


async def kubelet_of(client: RestClient, pod: Obj) -> dict[str, Any] | None:
    """What its node says of it: through the API server, which asks on the user's behalf, or through the node's proxy."""
    meta, node = pod["metadata"], pod["spec"].get("nodeName")
    if not node:
        return None
    key = f"{quote(meta['namespace'])}/{quote(meta['name'])}"
    for path in (f"/explain/kubelet/{key}", f"/api/v1/nodes/{quote(node)}/proxy/explain/{key}"):
        reply = await client.raw("GET", path)
        if reply.status == 200:
            told: dict[str, Any] = orjson.loads(reply.body)
            # A pod of the same name may have been there before.
            return told if told["uid"] == meta["uid"] else None
    return None


async def _last_lines(client: RestClient, pod: Obj, status: Obj) -> tuple[str, ...]:
    """Of the run that failed: the one before, if it runs again."""
    meta, again = pod["metadata"], "running" in (status.get("state") or {})
    query = f"container={quote(status['name'])}&tailLines={_LOG_LINES}" + ("&previous=true" if again else "")
    reply = await client.raw("GET", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log?{query}")
    return tuple(reply.body.decode(errors="replace").splitlines()) if reply.status == 200 else ()


async def _scheduling(client: RestClient, pod: Obj, nodes: int) -> tuple[dict[str, Any] | None, str]:
    """What the scheduler says, or why it says nothing."""
    meta = pod["metadata"]
    path = f"/explain/scheduling/{quote(meta['namespace'])}/{quote(meta['name'])}" + (f"?nodes={nodes}" if nodes else "")
    reply = await client.raw("GET", path)
    if reply.status == 200:
        told: dict[str, Any] = orjson.loads(reply.body)
        return told, ""
    if reply.status == 403:
        return None, _FORBIDDEN
    known = reply.status == 404 and reply.body.startswith(b"{")
    return None, _FORGOTTEN.format(name=pod["spec"].get("schedulerName", "")) if known else _UNEXPLAINED
