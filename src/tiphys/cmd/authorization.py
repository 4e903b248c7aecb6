"""Who may do what: the authorizers that flags or the file of --authorization-config name, in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.apiserver.access import follow_nodes, follow_roles
from tiphys.apiserver.authn.review_client import ReviewClient
from tiphys.apiserver.authz import configuration
from tiphys.apiserver.authz.abac import AbacAuthorizer, Policy
from tiphys.apiserver.authz.always import AlwaysAllow, AlwaysDeny, PrivilegedGroups
from tiphys.apiserver.authz.attributes import Link
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.conditions import Conditions
from tiphys.apiserver.authz.configuration import AuthorizerConfiguration
from tiphys.apiserver.authz.node import NodeAuthorizer
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.authz.webhook import Settings as WebhookSettings
from tiphys.apiserver.authz.webhook import WebhookAuthorizer
from tiphys.apiserver.bootstrap import rbac_policy
from tiphys.base.clock import Clock
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.cmd.watched_files import WatchedFiles
from tiphys.store.interface import Store

MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "Node", "RBAC")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Somebody who is asked, and how."""

    access: Access
    settings: WebhookSettings = field(default_factory=WebhookSettings)
    seconds: float = 30.0
    """That one attempt may take."""
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One authorizer of several."""

    mode: str
    webhook: Webhook | None = None


@dataclass(frozen=True, slots=True)
class Authorization:
    chain: Chain
    roles: RbacAuthorizer
    """Also where roles decide nothing: who grants a role must hold what it grants."""
    watched: Sequence[WatchedFiles] = ()


def steps_of(data: bytes, needed: Sequence[str] = ()) -> tuple[Step, ...]:
    """What the content of a file of --authorization-config asks for; raises ValueError."""
    return tuple(_step(each) for each in configuration.parse(data, _file_problem, needed))


def _step(configured: AuthorizerConfiguration) -> Step:
    webhook = configured.webhook
    if webhook is None:
        return Step(configured.type)
    access = kubeconfig.resolve(kubeconfig.read(Path(webhook.file)))
    return Step(configured.type, Webhook(access, webhook.settings, webhook.seconds, webhook.conditions))


def _file_problem(file: str) -> str:
    path = Path(file)
    try:
        path.stat()
    except OSError as problem:
        return f"error loading file: stat {file}: {(problem.strerror or '').lower()}"
    return "" if path.is_file() else "must be a regular file"


async def build(
    steps: Sequence[Step], policies: Sequence[Policy], file: Path | None, store: Store, clock: Clock
) -> Authorization:
    """With a `file` of --authorization-config, `steps` are what it says now, and what it says later counts from then on."""
    roles, modes = RbacAuthorizer(), [each.mode for each in steps]
    await follow_roles(store, roles)
    fixed: dict[str, Link] = {
        "AlwaysAllow": AlwaysAllow(),
        "AlwaysDeny": AlwaysDeny(),
        "ABAC": AbacAuthorizer(policies),
        "RBAC": roles,
    }
    if "Node" in modes:
        graph = NodeGraph()
        await follow_nodes(store, graph)
        fixed["Node"] = NodeAuthorizer(graph, rbac_policy.node_rules())

    def links(steps: Sequence[Step]) -> list[Link]:
        return [PrivilegedGroups(), *(_link(each, fixed, clock) for each in steps)]

    chain = Chain(links(steps))
    if file is None:
        return Authorization(chain, roles)
    started_with = tuple(mode for mode in modes if mode != configuration.WEBHOOK)

    def take(content: Sequence[bytes]) -> None:
        changed = steps_of(content[0], started_with)
        for each in changed:
            if each.mode in ("Node", "ABAC", "RBAC") and each.mode not in started_with:
                raise ValueError(f"authorizer type {each.mode} is not allowed if it was not enabled at initial server startup")
        chain.replace(links(changed))

    return Authorization(chain, roles, [WatchedFiles((file,), take)])


def _link(step: Step, fixed: dict[str, Link], clock: Clock) -> Link:
    webhook = step.webhook
    if webhook is None:
        return fixed[step.mode]
    ask = ReviewClient(webhook.access, clock, seconds=webhook.seconds).ask
    conditions = Conditions(webhook.conditions) if webhook.conditions else None
    return WebhookAuthorizer(ask, webhook.settings, clock.monotonic, conditions)
