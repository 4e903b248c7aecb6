"""Those who show nothing: one user for all of them, if the server lets them in at all."""

from collections.abc import Iterable
from urllib.parse import unquote

from tiphys.apiserver.authn.outcome import Authenticated
from tiphys.apiserver.authn.user import ANONYMOUS, UNAUTHENTICATED_GROUP, User
from tiphys.base.http.messages import Request

NOBODY = User(ANONYMOUS, (UNAUTHENTICATED_GROUP,))


class Anonymous:
    """`paths`: the only paths that may be asked for without a credential; empty: all."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = frozenset(paths)
        self._outcome = Authenticated(NOBODY)

    def authenticate(self, request: Request, now: float) -> Authenticated | None:  # noqa: ARG002
        return self._outcome if not self._paths or unquote(request.path) in self._paths else None
