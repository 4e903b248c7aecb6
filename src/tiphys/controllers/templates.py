"""Pod templates compared and named."""

from typing import Any

import orjson

from tiphys.machinery.meta import safe_encode
from tiphys.machinery.tree import Obj

HASH_LABEL = "pod-template-hash"
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def same(one: Obj, other: Obj) -> bool:
    """Whether two templates say the same, apart from the label that names one of them."""
    if one == other:
        return True
    return bool(significant(_without_hash(one)) == significant(_without_hash(other)))


def _without_hash(template: Obj) -> Obj:
    metadata = template.get("metadata") or {}
    labels = metadata.get("labels") or {}
    if HASH_LABEL not in labels:
        return template
    kept = {key: value for key, value in labels.items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": kept}}


def significant(value: Any) -> Any:
    """Without what is null or empty: upstream takes them for the same as absent."""
    if isinstance(value, dict):
        kept = {key: significant(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None and each != [] and each != {}}
    if isinstance(value, list):
        return [significant(each) for each in value]
    return value


def name_of(template: Obj, collisions: int | None) -> str:
    """A short name for a template, the same whenever it is asked for; `collisions` makes it another one.

    Upstream hashes how Go prints its structures; nobody else can. Templates are therefore always compared, never only their
    names, and both kinds of name live side by side.
    """
    digest = fnv32(orjson.dumps(significant(template), option=orjson.OPT_SORT_KEYS))
    if collisions is not None:
        digest = fnv32(collisions.to_bytes(8, "little"), digest)
    return safe_encode(str(digest))


def fnv32(data: bytes, start: int = _FNV_OFFSET) -> int:
    """FNV-1a."""
    digest = start
    for byte in data:
        digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return digest
