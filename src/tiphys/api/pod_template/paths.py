"""Paths within a volume or a container."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, invalid


def no_backsteps(path: str, at: str) -> Iterator[FieldError]:
    if ".." in path and ".." in path.split("/"):
        yield invalid(at, path, "must not contain '..'")


def local(path: str, at: str) -> Iterator[FieldError]:
    """Relative, and never upwards."""
    if path.startswith("/"):
        yield invalid(at, path, "must be a relative path")
    if ".." in path:
        yield from no_backsteps(path, at)


def local_unreserved(path: str, at: str) -> Iterator[FieldError]:
    """Names that start with two dots are the kubelet's own."""
    yield from local(path, at)
    if path.startswith("..") and not path.startswith("../"):
        yield invalid(at, path, "must not start with '..'")
