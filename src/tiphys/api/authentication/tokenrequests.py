"""TokenRequest: the body of serviceaccounts/token. It is no resource of its own, so it has rules but no Kind."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj

SCHEMA = "io.k8s.api.authentication.v1.TokenRequest"

_AT = "spec.expirationSeconds"


def default(request: Obj) -> None:
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = 3600


def validate(request: Obj) -> Iterator[FieldError]:
    seconds = (request.get("spec") or {}).get("expirationSeconds") or 0
    if seconds < 600:
        yield invalid(_AT, seconds, "may not specify a duration less than 10 minutes")
    if seconds > 1 << 32:
        yield invalid(_AT, seconds, "may not specify a duration larger than 2^32 seconds")
