"""What ConfigMaps and Secrets share: how large they may be, and immutability."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, forbidden
from tiphys.machinery.tree import Obj

MAX_BYTES = 1024 * 1024


def decoded_size(encoded: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")


def validate_immutable(new: Obj, old: Obj, parts: tuple[str, ...]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    told = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        yield forbidden("immutable", told)
    for part in parts:
        if (new.get(part) or {}) != (old.get(part) or {}):
            yield forbidden(part, told)
