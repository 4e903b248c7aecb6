"""A short sign of what a container's spec says, to notice that it changed while it ran."""

from zlib import crc32

import orjson

from tiphys.machinery.tree import Obj


def container_hash(container: Obj) -> str:
    """Of the fields that make a restart necessary: only the image can change in a pod that is assigned to a node."""
    told = orjson.dumps([container["name"], container.get("image", "")])
    return f"{crc32(told):x}"
