"""Which function answers a request for a resource: verb and subresource, looked up in two literal tables."""

from collections.abc import Awaitable, Callable

from tiphys.api.kind import Kind
from tiphys.apiserver import node_metrics
from tiphys.apiserver.call import Call
from tiphys.apiserver.request import RequestInfo
from tiphys.apiserver.rest import create, delete, patch, read, update, watch
from tiphys.apiserver.subresources import binding, eviction, remote, reviews, scale, token
from tiphys.base.http.messages import Answer
from tiphys.machinery import errors

Endpoint = Callable[[Call], Awaitable[Answer]]

OBJECTS: dict[str, Endpoint] = {
    "create": create.create,
    "get": read.get,
    "list": read.list_objects,
    "watch": watch.watch,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": delete.delete_collection,
}

REPORTED: dict[str, Endpoint] = {"get": node_metrics.get, "list": node_metrics.list_metrics}
"""Of kinds that nobody stores: nodes are asked."""

PART: dict[str, Endpoint] = {"get": read.get, "update": update.update, "patch": patch.patch}
"""A subresource that is a part of the object: the same verbs, under the rules of that part."""

FINALIZE: dict[str, Endpoint] = {"update": update.update}

SUBRESOURCES: dict[str, dict[str, Endpoint]] = {
    "scale": {"get": scale.get, "update": scale.update_scale, "patch": scale.patch_scale},
    "binding": {"create": binding.create},
    "eviction": {"create": eviction.create},
    "token": {"create": token.create},
    "log": {"get": remote.log},
    "exec": {"get": remote.execute, "create": remote.execute},
    "attach": {"get": remote.attach, "create": remote.attach},
    "portforward": {"get": remote.port_forward, "create": remote.port_forward},
    # The method without a verb of its own is OPTIONS.
    "proxy": dict.fromkeys(("get", "create", "update", "patch", "delete", ""), remote.proxy),
}


def endpoint(call: Call) -> Endpoint:
    """Raises ApiError where the kind has no such verb or subresource, or is not found at such a path."""
    kind, info = call.served.kind, call.info
    if kind.custom:
        return _custom(call, kind, info)
    _check_place(kind, info)
    if call.request.method == "HEAD" and info.subresource != "proxy":
        raise errors.method_not_allowed()
    if info.subresource:
        found = _subresource(kind, info).get(info.verb)
    elif kind.reported:
        found = REPORTED.get(info.verb)
    elif kind.ephemeral:
        answer = binding.create if kind.plural == "bindings" else reviews.create
        found = answer if info.verb == "create" else None
    elif info.verb in kind.verbs:
        found = OBJECTS[info.verb]
        if info.verb == "create" and info.name:
            found = None
    else:
        found = None
    if found is None:
        raise errors.method_not_allowed()
    return found


def _custom(call: Call, kind: Kind, info: RequestInfo) -> Endpoint:
    """Whoever answers for custom resources upstream looks at the verb and not at the path: a POST to an object creates what its
    body names, and HEAD is a GET."""
    table = _subresource(kind, info) if info.subresource else OBJECTS
    if info.verb not in table or (info.verb == "watch" and call.request.method == "HEAD"):
        raise errors.method_not_supported(kind.group, kind.plural, info.verb)
    if not info.name and info.verb in ("update", "patch"):
        if info.verb == "patch":
            patch.media_type(call)
        raise errors.bad_request("name must be provided")
    return table[info.verb]


def _check_place(kind: Kind, info: RequestInfo) -> None:
    if kind.ephemeral and info.name:
        raise errors.no_such_path()
    if kind.namespaced:
        if info.namespace:
            if not info.name and info.verb in ("update", "patch"):
                raise errors.method_not_allowed()
            return
        if info.verb in ("list", "watch"):
            return
        raise errors.no_such_path() if info.name or "list" not in kind.verbs else errors.method_not_allowed()
    if info.namespace and kind.plural != "namespaces":
        raise errors.no_such_path()
    if not info.name and info.verb in ("update", "patch"):
        raise errors.method_not_allowed()


def _subresource(kind: Kind, info: RequestInfo) -> dict[str, Endpoint]:
    name = info.subresource
    if name == "finalize" and name in kind.parts:
        return FINALIZE
    if name in kind.parts or (name == "status" and kind.strategy.status):
        return PART
    if name in SUBRESOURCES and (name in kind.subresources or (name == "scale" and kind.scale is not None)):
        return SUBRESOURCES[name]
    raise errors.not_found(kind.group, kind.plural, info.name) if kind.custom else errors.no_such_path()
