"""What an authorizer is asked, and what it answers."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from tiphys.apiserver.authn.user import User
from tiphys.machinery.tree import Obj

READ_VERBS = frozenset(("get", "list", "watch"))


@dataclass(slots=True)
class Attributes:
    """One request. `path` is set, and what is about resources empty, for one that is not about a resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Verdict(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Verdict
    reason: str = ""
    problem: str = ""
    """What kept an authorizer from deciding; not the asking user's fault."""

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOW


ALLOWED = Decision(Verdict.ALLOW)
NO_OPINION = Decision(Verdict.NO_OPINION)


@dataclass(slots=True)
class Rules:
    """What a user may do in a namespace, as SelfSubjectRulesReview tells it."""

    resource: list[Obj] = field(default_factory=list)
    non_resource: list[Obj] = field(default_factory=list)
    incomplete: bool = False
    problem: str = ""

    def to_status(self) -> Obj:
        status: Obj = {
            "resourceRules": self.resource,
            "nonResourceRules": self.non_resource,
            "incomplete": self.incomplete,
        }
        if self.problem:
            status["evaluationError"] = self.problem
        return status


class Link(Protocol):
    """One authorizer of several. One that has to ask somebody answers with something to wait for."""

    def authorize(self, asked: Attributes) -> Decision | Awaitable[Decision]: ...

    def rules_for(self, user: User, namespace: str) -> Rules: ...


class Authorizer(Protocol):
    """All of them together."""

    async def authorize(self, asked: Attributes) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> Rules: ...
