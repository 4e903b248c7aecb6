"""One request on its way through the server, and what the verbs need from the server to answer it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tiphys.apiserver.admission.chain import Attributes, Chain, Operation
from tiphys.apiserver.authn.outcome import Authenticated
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.catalogue import Catalogue, Served
from tiphys.apiserver.pod_requests import PodRequest, PodRequests
from tiphys.apiserver.request import Query, RequestInfo, is_true
from tiphys.base.clock import Clock
from tiphys.base.http.messages import Request
from tiphys.machinery import errors
from tiphys.machinery.fields import FieldError, forbidden, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import field_manager
from tiphys.store.interface import Store

if TYPE_CHECKING:
    from tiphys.apiserver.allocation.hooks import WriteHooks
    from tiphys.apiserver.node_metrics import Scraper
    from tiphys.apiserver.subresources.remote import Remote
    from tiphys.apiserver.subresources.token import TokenGrants
    from tiphys.apiserver.watch_cache import WatchCaches


class Identity(Protocol):
    """Who a token belongs to, for reviews; the pipeline has its own way in."""

    async def review(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | str:
        """Or what is wrong with it."""
        ...


WATCH_SECONDS = 1800.0
"""Watches without timeoutSeconds end after this long, up to twice as long, so that they do not all return at once."""


@dataclass(slots=True)
class Backend:
    """The parts of the server that verbs work with. Built once by the composition root."""

    store: Store
    catalogue: Catalogue
    admission: Chain
    clock: Clock
    watches: "WatchCaches"
    hooks: "WriteHooks"
    authorizer: Authorizer
    identity: Identity
    tokens: "TokenGrants"
    remote: "Remote"
    scraper: "Scraper"
    new_uid: Callable[[], str]
    choose: Callable[[Sequence[str]], str]
    """Picks one of several at random."""
    chance: Callable[[], float]
    """A number in [0, 1)."""
    pod_requests: PodRequests = field(default_factory=PodRequests)
    watch_seconds: float = WATCH_SECONDS


@dataclass(slots=True)
class Call:
    backend: Backend
    request: Request
    info: RequestInfo
    query: Query
    user: User
    served: Served
    now: float
    tree: Obj | None = None
    """The body as a tree, where the caller is in this process and needed no encoding."""
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    """For the audit log."""
    remembered: PodRequest | None = None
    """Where it is noted what becomes of this request, if it is."""
    order_of_fields: Mapping[str, int] = field(default_factory=dict)
    """Where the fields of the body stand in it, so that several problems are told in that order."""

    @property
    def dry_run(self) -> bool:
        return bool(self.query.get("dryRun"))

    @property
    def namespace(self) -> str:
        return self.info.namespace if self.served.kind.namespaced else ""

    def mark(self, what: str) -> None:
        """It has just been done."""
        if self.remembered is not None:
            self.remembered.mark(what)

    def option(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        return is_true(self.query, name)

    def attributes(self, operation: Operation, name: str, obj: Obj | None, old: Obj | None, options: Obj) -> Attributes:
        return Attributes(
            operation=operation,
            kind=self.served.kind,
            namespace=self.namespace,
            name=name,
            user=self.user,
            now=self.now,
            subresource=self.info.subresource,
            obj=obj,
            old=old,
            options=options,
            dry_run=self.dry_run,
            warnings=self.warnings,
            annotations=self.annotations,
        )


_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


def check_write_options(call: Call, options: str = "CreateOptions", *, apply: bool = False) -> None:
    """dryRun, fieldManager and fieldValidation in upstream's words, before anything else happens.

    `options` is what upstream calls them for this verb; patches also have `force`, for apply only.
    """
    if not call.query:
        if apply:
            raise errors.invalid(_OPTIONS_GROUP, options, "", [required("fieldManager", "is required for apply patch")])
        return
    problems: list[FieldError] = []
    manager = call.option("fieldManager")
    if apply and not manager:
        problems.append(required("fieldManager", "is required for apply patch"))
    if options == "PatchOptions" and not apply and "force" in call.query:
        problems.append(forbidden("force", "may not be specified for non-apply patch"))
    problems.extend(field_manager(manager, "fieldManager"))
    dry_run = call.query.get("dryRun", [])
    if any(each != "All" for each in dry_run):
        problems.append(not_supported("dryRun", dry_run, ("All",)))
    validation = call.option("fieldValidation")
    if validation not in _FIELD_VALIDATIONS:
        problems.append(not_supported("fieldValidation", validation, _FIELD_VALIDATIONS))
    if problems:
        raise errors.invalid(_OPTIONS_GROUP, options, "", problems)


_OPTIONS_GROUP = "meta.k8s.io"
