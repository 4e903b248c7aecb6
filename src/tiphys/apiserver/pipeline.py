"""The request path, in order: who is it, may they, how busy are we, which function answers. Read `handle` from top to bottom.

Admission and validation follow inside the writing verbs (`rest/`), since only they know the object.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tiphys.apiserver import compression, routes
from tiphys.apiserver.audit.event import Entry
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.denial import CannotDecide
from tiphys.apiserver.call import Backend, Call
from tiphys.apiserver.flow_control import is_long_running
from tiphys.apiserver.pod_requests import PodRequest
from tiphys.apiserver.request import Query, RequestInfo, parse_query, resolve
from tiphys.apiserver.rest import answers
from tiphys.base.http.messages import Answer, Request, Response, Stream
from tiphys.base.log import Logger
from tiphys.machinery import duration, errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Unavailable

LONGEST = 60.0
"""Seconds that an ordinary request may take; it may ask for less."""

_AUDIT_ID = "audit-id"
_NOT_CACHED = ("Cache-Control", "no-cache, private")

NonResource = Callable[[Request, RequestInfo, Query], Awaitable[Answer]]


class Authenticator(Protocol):
    async def authenticate(self, request: Request, info: RequestInfo, now: float) -> User:
        """Raises ApiError: 401, or what keeps the asking user from being somebody else."""
        ...


class Authorizer(Protocol):
    async def authorize(self, user: User, info: RequestInfo) -> str:
        """Why they may. Raises ApiError 403."""
        ...


class Observer(Protocol):
    """Metrics, request log."""

    def answered(self, request: Request, info: RequestInfo | None, user: User | None, status: int, seconds: float) -> None: ...


class Gate(Protocol):
    """Flow control: who waits, who is turned away."""

    async def enter(self, user: User, info: RequestInfo) -> None: ...

    def leave(self, user: User, info: RequestInfo) -> None: ...


class Auditor(Protocol):
    """The audit log: told of each stage of those requests that its policy wants to know of."""

    def received(self, number: str, request: Request, info: RequestInfo, user: User | None, now: float) -> Entry | None: ...

    def allowed(self, entry: Entry, reason: str) -> None: ...

    def answered(self, entry: Entry, answer: Answer) -> Answer: ...

    def failed(self, entry: Entry, problem: str) -> None: ...


class Pipeline:
    def __init__(
        self,
        backend: Backend,
        authenticator: Authenticator,
        authorizer: Authorizer,
        gate: Gate,
        observer: Observer,
        other: NonResource,
        log: Logger,
        auditor: Auditor | None = None,
    ) -> None:
        self.backend = backend
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._gate = gate
        self._observer = observer
        self._other = other
        self._log = log
        self._auditor = auditor
        self.compresses = True
        """Answers, for those who take that."""
        self.longest = LONGEST
        # Unique enough for a log, at a fraction of the price of a new UUID for every request.
        self._run = backend.new_uid().rpartition("-")[0]
        self._requests = 0

    async def handle(self, request: Request) -> Answer:
        began = time.perf_counter()
        number = self._numbered(request)
        info: RequestInfo | None = None
        user: User | None = None
        entry: Entry | None = None
        answer: Answer
        try:
            query = parse_query(request.query)
            info = resolve(request.method, request.path, query)
            now = self.backend.clock.now()
            user = await self._authenticator.authenticate(request, info, now)
            if self._auditor is not None:
                entry = self._auditor.received(number, request, info, user, now)
            reason = await self._authorizer.authorize(user, info)
            if self._auditor is not None and entry is not None:
                self._auditor.allowed(entry, reason)
            answer = await self._admitted(request, info, query, user, now, entry)
        except ApiError as problem:
            if problem.code in (400, 403):
                # Names from the request stand in the text; nobody shall take it for a page.
                problem.headers["X-Content-Type-Options"] = "nosniff"
            answer = answers.error(problem, request.headers.get("accept", ""))
        except CannotDecide as problem:
            answer = answers.page(500, problem.page(request.path + (f"?{request.query}" if request.query else "")))
        except Unavailable as problem:
            answer = answers.error(errors.service_unavailable(str(problem)))
        except Exception as bug:  # noqa: BLE001 - the one place of the server where our own bugs are contained
            self._log.exception("request failed", bug, method=request.method, path=request.path)
            answer = answers.error(errors.internal(f"{type(bug).__name__}"))
            if self._auditor is not None and entry is not None:
                self._auditor.failed(entry, f"{type(bug).__name__}")
        if self._auditor is not None and info is not None:
            answer = self._audited(number, request, info, user, entry, answer)
        status = 101
        if isinstance(answer, Response | Stream):
            status = answer.status
            answer.headers = self._marked(number, answer.headers)
        self._observer.answered(request, info, user, status, time.perf_counter() - began)
        return answer

    def _audited(
        self, number: str, request: Request, info: RequestInfo, user: User | None, entry: Entry | None, answer: Answer
    ) -> Answer:
        assert self._auditor is not None
        if user is None:
            # Whoever did not say who they are is recorded, too.
            entry = self._auditor.received(number, request, info, None, self.backend.clock.now())
        return self._auditor.answered(entry, answer) if entry is not None else answer

    def _numbered(self, request: Request) -> str:
        number = request.headers.get(_AUDIT_ID)
        if number is not None:
            return number
        self._requests += 1
        return f"{self._run}-{self._requests:012x}"

    def _marked(self, audit: str, headers: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Every answer carries the number under which audit knows it, and is nobody's to cache unless it says so."""
        if not headers:
            return (("Audit-Id", audit), _NOT_CACHED)
        if any(name == "Cache-Control" for name, _ in headers):
            return (*headers, ("Audit-Id", audit))
        return (*headers, ("Audit-Id", audit), _NOT_CACHED)

    async def _admitted(
        self, request: Request, info: RequestInfo, query: Query, user: User, now: float, entry: Entry | None
    ) -> Answer:
        await self._gate.enter(user, info)
        try:
            if not info.is_resource:
                return await self._other(request, info, query)
            if self._is_nobodys(info):
                return answers.page_not_found()
            call = self._call(request, info, query, user, now, None)
            if entry is not None:
                call.annotations = entry.annotations
            try:
                if "timeout" in query and not is_long_running(info):
                    answer = await self._in_time(call)
                else:
                    answer = await _carried_out(call)
                taken = self.compresses and "accept-encoding" in request.headers
                if taken and type(answer) is Response and compression.wanted(request):
                    return await compression.compressed(answer)
                return answer
            except ApiError as problem:
                return answers.refusal(call, problem)
        finally:
            self._gate.leave(user, info)

    def _is_nobodys(self, info: RequestInfo) -> bool:
        """Upstream's handlers of built-in groups answer for what is not in them; of other groups nobody does."""
        catalogue = self.backend.catalogue
        if not catalogue.has_group(info.group):
            return True
        served = catalogue.at(info.group, info.version, info.resource)
        if served is None:
            return catalogue.is_custom_group(info.group)
        if not served.custom:
            return False
        # In a namespace, or not, as the kind is; but for looking at those of all namespaces.
        return bool(info.namespace) != served.kind.namespaced and (bool(info.namespace) or info.verb not in ("list", "watch"))

    async def _in_time(self, call: Call) -> Answer:
        """A request that says how long it wants to wait."""
        try:
            seconds = duration.seconds(call.option("timeout"))
        except ValueError as problem:
            raise errors.bad_request(f"invalid timeout specified in the request URL - {problem}") from None
        try:
            async with asyncio.timeout(min(seconds, self.longest) if seconds > 0 else self.longest):
                return await _carried_out(call)
        except TimeoutError:
            raise errors.timeout("request did not complete within the allotted timeout") from None

    async def serve(
        self, request: Request, info: RequestInfo, query: Query, user: User, now: float, tree: Obj | None = None
    ) -> Answer:
        """A resource request that may go ahead."""
        call = self._call(request, info, query, user, now, tree)
        return await _carried_out(call)

    def _call(self, request: Request, info: RequestInfo, query: Query, user: User, now: float, tree: Obj | None) -> Call:
        served = self.backend.catalogue.at(info.group, info.version, info.resource)
        if served is None or "//" in info.path.removesuffix(info.rest):
            raise errors.no_such_path()
        call = Call(self.backend, request, info, query, user, served, now, tree)
        # Deprecated kinds have no subresources: what is asked for below them is nowhere, and nowhere nothing is said.
        if served.kind.deprecated and not info.subresource:
            call.warnings.append(served.kind.deprecated)
        return call


async def _carried_out(call: Call) -> Answer:
    info, kept = call.info, call.backend.pod_requests
    if not kept.concerns(info):
        return await routes.endpoint(call)(call)
    waited = call.backend.clock.now() - call.now
    agent = call.request.headers.get("user-agent", "")
    call.remembered = PodRequest(info, call.now, call.user.name, agent, waited, time.perf_counter())
    with kept.remembering(call.remembered):
        return await routes.endpoint(call)(call)
