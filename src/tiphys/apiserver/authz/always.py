"""Authorizers that do not look at what is asked."""

from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.authz.attributes import ALLOWED, NO_OPINION, Attributes, Decision, Rules, Verdict

_EVERYTHING = Rules(
    resource=[{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    non_resource=[{"verbs": ["*"], "nonResourceURLs": ["*"]}],
)


class AlwaysAllow:
    def authorize(self, asked: Attributes) -> Decision:  # noqa: ARG002 - that is its point
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002
        return _EVERYTHING


class AlwaysDeny:
    def authorize(self, asked: Attributes) -> Decision:  # noqa: ARG002
        return Decision(Verdict.NO_OPINION, "Everything is forbidden.")

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002
        return Rules()


class PrivilegedGroups:
    """Members of these groups may do anything, whatever the roles say: the way back in when they are wrong."""

    def __init__(self, *groups: str) -> None:
        self._groups = frozenset(groups or (MASTERS,))

    def authorize(self, asked: Attributes) -> Decision:
        return NO_OPINION if self._groups.isdisjoint(asked.user.groups) else ALLOWED

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002 - upstream's tells no rules either
        return Rules()


class AlwaysAllowPaths:
    """Paths that anybody may read (health checks), exact or ending in `*`; the leading slash may be left out."""

    def __init__(self, *paths: str) -> None:
        bare = [path.removeprefix("/") for path in paths]
        self._exact = frozenset(path for path in bare if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in bare if path.endswith("*"))

    def authorize(self, asked: Attributes) -> Decision:
        if not asked.path:
            return NO_OPINION
        path = asked.path.removeprefix("/")
        return ALLOWED if path in self._exact or path.startswith(self._prefixes) else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> Rules:  # noqa: ARG002
        return Rules()
