"""Several authorizers, asked in order: the first that allows or denies decides."""

from collections.abc import Sequence

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes, Decision, Link, Rules, Verdict


class Chain:
    def __init__(self, authorizers: Sequence[Link]) -> None:
        self._authorizers = tuple(authorizers)

    def replace(self, authorizers: Sequence[Link]) -> None:
        """Requests that are being decided go on with those they began with."""
        self._authorizers = tuple(authorizers)

    async def authorize(self, asked: Attributes) -> Decision:
        reasons: list[str] = []
        troubles: list[str] = []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(asked)
            if not isinstance(decision, Decision):
                decision = await decision
            if decision.verdict is not Verdict.NO_OPINION:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.problem:
                troubles.append(decision.problem)
        return Decision(Verdict.NO_OPINION, "\n".join(reasons), _aggregate(troubles))

    def rules_for(self, user: User, namespace: str) -> Rules:
        told = Rules()
        problems: list[str] = []
        for authorizer in self._authorizers:
            rules = authorizer.rules_for(user, namespace)
            told.resource += rules.resource
            told.non_resource += rules.non_resource
            told.incomplete = told.incomplete or rules.incomplete
            if rules.problem:
                problems.append(rules.problem)
        told.problem = _aggregate(problems)
        return told


def _aggregate(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""
