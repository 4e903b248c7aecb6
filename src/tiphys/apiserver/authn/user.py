"""Who asks: what every authenticator returns and every authorizer reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
AUTHENTICATED_GROUP = "system:authenticated"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
MASTERS = "system:masters"
NODES = "system:nodes"
NODE_PREFIX = "system:node:"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts"

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class User:
    """The hash is computed once: a user is a key of every cache on the way of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    impersonator: "User | None" = field(default=None, repr=False, compare=False)
    """Who acts as this user, for the audit log."""
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.name, self.groups, self.uid, self.extra)))

    def __hash__(self) -> int:
        return self._hash

    def with_groups(self, *groups: str) -> "User":
        """The same user, in these groups too."""
        added = tuple(group for group in groups if group not in self.groups)
        return User(self.name, (*self.groups, *added), self.uid, self.extra) if added else self

    def extras(self) -> dict[str, list[str]]:
        return {key: list(values) for key, values in self.extra}


def extra_of(extra: Mapping[str, Iterable[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Extras in the form that a User keeps."""
    return tuple(sorted((key, tuple(values)) for key, values in extra.items()))


def service_account_name(namespace: str, name: str) -> str:
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    return SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}"


def split_service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that goes by this user name."""
    if not user.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if colon and namespace and name and ":" not in name else None
