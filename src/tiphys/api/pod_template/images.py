"""What an image reference says about its tag: the default pull policy hangs on it."""

import re
from functools import lru_cache

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_NAME = rf"(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"(?P<name>{_NAME})(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?", re.ASCII)
_BARE_ID = re.compile("[a-f0-9]{64}")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_NAME_MAX = 255


@lru_cache(4096)
def default_pull_policy(reference: str) -> str:
    """Always for the tag `latest`, said or implied. A malformed reference has no tag (and is refused elsewhere, or runs)."""
    return "Always" if tag_of(reference) == "latest" else "IfNotPresent"


def tag_of(reference: str) -> str:
    """The tag, `latest` where there is neither tag nor digest, nothing where the reference cannot be parsed."""
    if _BARE_ID.fullmatch(reference):
        return ""
    head, _, rest = reference.partition("/")
    # A first part that cannot be a host is a part of the path, and paths are lower case.
    is_host = bool(rest) and ("." in head or ":" in head or head == "localhost" or head != head.lower())
    if not is_host:
        path = reference if "/" in reference else f"library/{reference}"
        reference = f"docker.io/{path}"
    elif head == "index.docker.io":
        reference = f"docker.io/{rest}"
    found = _REFERENCE.fullmatch(reference)
    if found is None or len(found["name"]) > _NAME_MAX or not _digest_is_sound(found["digest"]):
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def _digest_is_sound(digest: str | None) -> bool:
    if digest is None:
        return True
    algorithm, _, value = digest.partition(":")
    return len(value) == _DIGEST_LENGTHS.get(algorithm, -1) and value == value.lower()
