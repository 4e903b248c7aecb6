"""Authorization as the pipeline asks for it: a request's attributes to the chain; and the roles that the chain reads."""

from tiphys.api.rbac import KINDS as RBAC_KINDS
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes, Authorizer
from tiphys.apiserver.authz.denial import CannotDecide, denial
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.following import follow
from tiphys.apiserver.request import RequestInfo
from tiphys.store.interface import Store, Subscription


class Access:
    """Raises a refusal in upstream's words, or CannotDecide, unless some authorizer allows the request."""

    __slots__ = ("_chain",)

    def __init__(self, chain: Authorizer) -> None:
        self._chain = chain

    async def authorize(self, user: User, info: RequestInfo) -> str:
        """Why it may."""
        asked = attributes_of(user, info)
        decision = await self._chain.authorize(asked)
        if not decision.allowed:
            if decision.problem:
                raise CannotDecide(decision.problem)
            raise denial(asked, decision.reason)
        return decision.reason


def attributes_of(user: User, info: RequestInfo) -> Attributes:
    if not info.is_resource:
        return Attributes(user, info.verb, path=info.path)
    return Attributes(
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name,
        field_selector=info.field_selector,
        label_selector=info.label_selector,
    )


async def follow_roles(store: Store, roles: RbacAuthorizer) -> list[Subscription]:
    """Keep `roles` equal to the stored roles and bindings: a changed binding takes effect with the write itself."""
    return [await _follow(store, roles, kind.kind, kind.prefix) for kind in RBAC_KINDS]


_NODE_RELATED = {"pods": "pods", "persistentvolumes": "persistentvolumes", "volumeattachments": "volumeattachments"}
"""Plural and bucket of what the graph of nodes is made of."""


async def follow_nodes(store: Store, graph: NodeGraph) -> list[Subscription]:
    """Keep `graph` equal to what is stored of pods and their volumes."""
    return [await _follow_graph(store, graph, plural, bucket) for plural, bucket in _NODE_RELATED.items()]


async def _follow_graph(store: Store, graph: NodeGraph, plural: str, bucket: str) -> Subscription:
    return await follow(
        store,
        bucket,
        lambda record: graph.set(plural, record.tree()),
        lambda record: graph.remove(plural, record.name),
    )


async def _follow(store: Store, roles: RbacAuthorizer, kind: str, bucket: str) -> Subscription:
    return await follow(
        store,
        bucket,
        lambda record: roles.set(kind, record.tree()),
        lambda record: roles.remove(kind, record.name),
    )
