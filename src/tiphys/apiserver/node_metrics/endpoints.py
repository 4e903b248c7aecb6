"""GET of metrics.k8s.io: the nodes or pods are those of the store, what they use is what their kubelets say."""

from collections.abc import Callable, Iterable

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.metrics import NODE_METRICS
from tiphys.apiserver.call import Call
from tiphys.apiserver.node_metrics.figures import Look, node_metrics, pod_metrics
from tiphys.apiserver.rest import answers, list_options
from tiphys.apiserver.rest.read import listed
from tiphys.apiserver.rest.selection import selection_of
from tiphys.base.http.messages import Response
from tiphys.machinery import errors
from tiphys.machinery.errors import Details
from tiphys.machinery.tree import Obj

Making = Callable[[Obj, Look, Look], Obj | None]


async def get(call: Call) -> Response:
    answers.check_view(call)
    of_nodes = call.served.kind is NODE_METRICS
    kind, name = NODES if of_nodes else PODS, call.info.name
    stored = f"{call.namespace}/{name}" if kind.namespaced else name
    found = await call.backend.store.get(kind.prefix, stored)
    told = await _told(call, [found.tree()], of_nodes=of_nodes) if found is not None else []
    if not told:
        # As metrics-server words it: these are the names of its resources.
        plural = "nodemetrics" if of_nodes else "podmetrics"
        shown = name if of_nodes else f"{call.namespace}/{name}"
        why = f'{plural}.metrics.k8s.io "{shown}" not found'
        raise errors.ApiError(404, "NotFound", why, Details(shown, "metrics.k8s.io", plural))
    return answers.tree(call, told[0])


async def list_metrics(call: Call) -> Response:
    answers.check_view(call, collection=True)
    list_options.check_list(call)
    selection = selection_of(call)
    of_nodes = call.served.kind is NODE_METRICS
    kind = NODES if of_nodes else PODS
    listing = await call.backend.store.list(kind.prefix, call.namespace)
    items = [tree for each in listing.records if selection.admits(tree := each.tree())]
    return listed(call, await _told(call, items, of_nodes=of_nodes), "")


async def _told(call: Call, items: list[Obj], *, of_nodes: bool) -> list[Obj]:
    scraper = call.backend.scraper
    nodes = await _nodes(call)
    scraper.forget(nodes)
    place = _own_name if of_nodes else _node_name
    names = {place(each) for each in items} & nodes.keys()
    looks = await scraper.looks(nodes[name] for name in sorted(names))
    make: Making = node_metrics if of_nodes else pod_metrics
    return list(_made(items, looks, place, make))


async def _nodes(call: Call) -> dict[str, Obj]:
    listing = await call.backend.store.list(NODES.prefix, "")
    return {each.name: each.tree() for each in listing.records}


def _own_name(node: Obj) -> str:
    name: str = node["metadata"]["name"]
    return name


def _node_name(pod: Obj) -> str:
    name: str = pod["spec"].get("nodeName") or ""
    return name


def _made(
    items: Iterable[Obj], looks: dict[str, tuple[Look, Look]], place: Callable[[Obj], str], make: Making
) -> Iterable[Obj]:
    for each in items:
        pair = looks.get(place(each))
        made = make(each, *pair) if pair is not None else None
        if made is not None:
            yield made
