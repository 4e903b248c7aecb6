"""Asks the API server for what each component remembers of a pod. Decides nothing."""

from typing import Any
from urllib.parse import quote

import orjson

from tiphys.api.core.pods import PODS
from tiphys.client.rest import RestClient
from tiphys.kubectl.trace.timeline import Remembered
from tiphys.kubectl.why.gather import kubelet_of
from tiphys.machinery.tree import Obj

_MADE = ("create", "", None)


async def story(client: RestClient, namespace: str, name: str) -> Remembered:
    """ApiError where there is no such pod."""
    pod = await client.get(PODS, name, namespace)
    key = f"{quote(namespace)}/{quote(name)}"
    silent: list[str] = []

    async def ask(path: str, who: str) -> dict[str, Any]:
        reply = await client.raw("GET", path)
        if reply.status == 200:
            told: dict[str, Any] = orjson.loads(reply.body)
            return told
        if reply.status == 403:
            silent.append(f"You may not ask the {who}; the ClusterRole tiphys:explainer would allow it.")
        elif not (reply.status == 404 and reply.body.startswith(b"{")):
            silent.append(f"The {who} of this cluster does not tell what it did.")
        return {}

    requests = (await ask(f"/explain/requests/{key}", "API server")).get("requests") or []
    turns = {}
    for owner in pod["metadata"].get("ownerReferences") or ():
        controller = f"{owner['kind'].lower()}-controller"
        told = await ask(f"/explain/controllers/{controller}/{quote(namespace)}/{quote(owner['name'])}", "controllers")
        turns[controller] = [each for each in told.get("turns") or () if _concerns(each, name)]
    scheduling = await ask(f"/explain/scheduling/{key}", "scheduler") or None
    kubelet = await kubelet_of(client, pod)
    if pod["spec"].get("nodeName") and kubelet is None:
        silent.append(f"The kubelet of {pod['spec']['nodeName']} does not tell what it did, or you may not ask it.")
    return Remembered(pod, _of_this(requests), turns, scheduling, kubelet, tuple(silent))


def _concerns(turn: Obj, name: str) -> bool:
    return any(name in each for each in turn["wrote"])


def _of_this(requests: list[Obj]) -> list[Obj]:
    """From the last that made a pod of that name on: what came before was about another one."""
    made = [at for at, each in enumerate(requests) if (each["verb"], each["subresource"], each.get("code")) == _MADE]
    return requests[made[-1] :] if made else requests
