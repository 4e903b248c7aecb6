"""Keys and values as upstream lays them out in etcd, so that both API servers can share one."""

import re

import orjson

from tiphys.api.older_versions import is_older, upgraded
from tiphys.machinery.record import encode
from tiphys.store.interface import Codec

DEFAULT_PREFIX = "/registry"

# An object as `machinery.record.encode` and upstream's JSON serializers write it. What does not begin like this could hold
# `"metadata":{` in another place first, or a resourceVersion already.
_STAMPABLE = re.compile(
    rb'\{"(kind|apiVersion)":"([^"\\]*)","(?:kind|apiVersion)":"([^"\\]*)","metadata":\{(?!"resourceVersion")',
)


class Keys:
    """`prefix`: what stands before all keys, so that several clusters can share one etcd."""

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        self.begin = f"/{prefix.strip('/')}/".encode() if prefix.strip("/") else b"/"
        self.end = self.begin[:-1] + b"0"
        """The first key after all of ours."""

    def of(self, bucket: str, name: str) -> bytes:
        """Raises ValueError for a bucket that `place` could not tell from the key again."""
        key = self.begin + f"{bucket}/{name}".encode()
        if self.place(key) != (bucket, name):
            raise ValueError(f"{bucket!r} cannot be a bucket in etcd")
        return key

    def place(self, key: bytes) -> tuple[str, str] | None:
        """Bucket and name; None for a key that is none of ours.

        A bucket is one part of the path, `pods`, or two if the first is an API group, `example.com/widgets` (a group that is
        spelled out has a dot, a resource has none), or `services`, which upstream divides into specs and endpoints.
        """
        if not key.startswith(self.begin):
            return None
        try:
            path = key[len(self.begin) :].decode()
        except UnicodeDecodeError:
            return None
        first, _, rest = path.partition("/")
        if "." in first or first == "services":
            second, _, name = rest.partition("/")
            return (f"{first}/{second}", name) if second and name else None
        return (first, rest) if first and rest else None

    def opened(self, key: bytes, value: bytes, codec: Codec | None) -> bytes:
        """The plain value. Raises Unavailable."""
        if codec is None or (place := self.place(key)) is None:
            return value
        return codec.open(*place, value)


def understand(value: bytes) -> bytes | None:
    """The value in a form that `machinery.record.stamp` takes, in the version that is served; None if it is not an object in
    JSON."""
    begin = _STAMPABLE.match(value)
    if begin is not None and not is_older(*_version_and_kind(begin)):
        return value[:-1] if value.endswith(b"\n") else value
    try:
        tree = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    if (
        not isinstance(tree, dict)
        or not isinstance(tree.get("metadata"), dict)
        or not isinstance(tree.get("kind"), str)
        or not isinstance(tree.get("apiVersion"), str)
    ):
        return None
    return encode(upgraded(tree))


def _version_and_kind(begin: re.Match[bytes]) -> tuple[str, str]:
    first, second = begin[2].decode(), begin[3].decode()
    return (second, first) if begin[1] == b"kind" else (first, second)
