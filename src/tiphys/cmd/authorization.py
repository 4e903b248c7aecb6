"""Who may do what: the authorizers that --authorization-mode names, in its order."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiphys.apiserver.access import follow_nodes, follow_roles
from tiphys.apiserver.authn.review_client import ReviewClient
from tiphys.apiserver.authz.abac import AbacAuthorizer, Policy
from tiphys.apiserver.authz.always import AlwaysAllow, AlwaysDeny, PrivilegedGroups
from tiphys.apiserver.authz.attributes import Authorizer, Link
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.node import NodeAuthorizer
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.authz.webhook import Settings as WebhookSettings
from tiphys.apiserver.authz.webhook import WebhookAuthorizer
from tiphys.apiserver.bootstrap import rbac_policy
from tiphys.base.clock import Clock
from tiphys.client.kubeconfig import Access
from tiphys.store.interface import Store

MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "Node", "RBAC")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Of the mode Webhook: who is asked, and how."""

    access: Access
    settings: WebhookSettings = field(default_factory=WebhookSettings)


@dataclass(frozen=True, slots=True)
class Authorization:
    chain: Authorizer
    roles: RbacAuthorizer
    """Also where roles decide nothing: who grants a role must hold what it grants."""


async def build(
    modes: Sequence[str], policies: Sequence[Policy], webhook: Webhook | None, store: Store, clock: Clock
) -> Authorization:
    roles = RbacAuthorizer()
    await follow_roles(store, roles)
    authorizers: list[Link] = [PrivilegedGroups()]
    for mode in modes:
        match mode:
            case "AlwaysAllow":
                authorizers.append(AlwaysAllow())
            case "AlwaysDeny":
                authorizers.append(AlwaysDeny())
            case "ABAC":
                authorizers.append(AbacAuthorizer(policies))
            case "Webhook" if webhook is not None:
                ask = ReviewClient(webhook.access, clock).ask
                authorizers.append(WebhookAuthorizer(ask, webhook.settings, clock.monotonic))
            case "Node":
                graph = NodeGraph()
                await follow_nodes(store, graph)
                authorizers.append(NodeAuthorizer(graph, rbac_policy.node_rules()))
            case "RBAC":
                authorizers.append(roles)
            case _:
                raise ValueError(f"authorization-mode {mode!r} is not a valid mode")
    return Authorization(Chain(authorizers), roles)
