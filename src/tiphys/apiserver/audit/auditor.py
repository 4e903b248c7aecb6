"""What the pipeline calls: a request has come in, may go ahead, is answered. Events go to every back end."""

from collections.abc import Sequence
from typing import Protocol

from tiphys.apiserver.audit.event import Entry
from tiphys.apiserver.audit.policy import COMPLETE, PANIC, RECEIVED, STARTED, Level, Policy
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.flow_control import is_long_running
from tiphys.apiserver.request import RequestInfo
from tiphys.base.clock import Clock
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.machinery.tree import Obj

DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"


class Backend(Protocol):
    def put(self, event: Obj) -> None:
        """Never waits."""
        ...


class Auditor:
    """Implements pipeline.Auditor."""

    def __init__(self, policy: Policy, backends: Sequence[Backend], clock: Clock) -> None:
        self._policy = policy
        self._backends = tuple(backends)
        self._clock = clock

    def received(self, number: str, request: Request, info: RequestInfo, user: User | None, now: float) -> Entry | None:
        """None: nothing of this request is recorded."""
        # Whoever acts as somebody else is judged as who they are.
        decision = self._policy.decide((user.impersonator or user) if user is not None else None, info)
        if decision.level == Level.NONE:
            return None
        entry = Entry(number, decision, request, info, user, now)
        if user is not None:
            self._record(entry, RECEIVED)
        return entry

    def allowed(self, entry: Entry, reason: str) -> None:
        entry.annotations[DECISION] = "allow"
        entry.annotations[REASON] = reason
        entry.read_request()

    def answered(self, entry: Entry, answer: Answer) -> Answer:
        """The answer, so wrapped where it takes its time that its end is recorded, too."""
        if entry.failed:
            return answer
        if DECISION not in entry.annotations and entry.user is not None:
            entry.annotations[DECISION], entry.annotations[REASON] = "forbid", ""
        if isinstance(answer, Response):
            entry.read_answer(answer.status, answer.body, answer.content_type)
            # Whoever is nobody gets no further than a first answer.
            self._record(entry, COMPLETE if entry.user is not None else STARTED)
            return answer
        entry.read_answer(answer.status if isinstance(answer, Stream) else 101)
        if is_long_running(entry.info):
            self._record(entry, STARTED)
        run = answer.run

        async def recorded(channel: Channel) -> None:
            try:
                await run(channel)
            finally:
                self._record(entry, COMPLETE)

        if isinstance(answer, Upgrade):
            return Upgrade(recorded, answer.headers)
        return Stream(recorded, answer.status, answer.content_type, answer.headers)

    def failed(self, entry: Entry, problem: str) -> None:
        """Our own fault."""
        entry.failed = True
        entry.status = {"status": "Failure", "message": f"APIServer panic'd: {problem}", "reason": "InternalError", "code": 500}
        self._record(entry, PANIC)

    def _record(self, entry: Entry, stage: str) -> None:
        if stage not in entry.decision.omitted:
            event = entry.event(stage, self._clock.now())
            for backend in self._backends:
                backend.put(event)
