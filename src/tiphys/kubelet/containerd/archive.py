"""An image as a docker archive of one layer, made in memory: for the pause image, and for images that tests bring along."""

import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence

import orjson


def archive(
    reference: str,
    files: Mapping[str, bytes],
    *,
    links: Mapping[str, str] = {},
    entrypoint: Sequence[str] = (),
    command: Sequence[str] = (),
    architecture: str = "amd64",
) -> bytes:
    """`files` and symbolic `links` by their path in the image; everything is executable. `reference`: with registry and tag."""
    layer = _tar(files, links)
    config = orjson.dumps(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Entrypoint": list(entrypoint) or None,
                "Cmd": list(command) or None,
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    )
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = orjson.dumps([{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}])
    return _tar({"layer.tar": layer, name: config, "manifest.json": manifest}, {})


def _tar(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        folders = {
            "/".join(parts[:depth])
            for each in (*files, *links)
            for parts in [each.split("/")]
            for depth in range(1, len(parts))
        }
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            made.addfile(entry)
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755
            made.addfile(entry, io.BytesIO(content))
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            made.addfile(entry)
    return buffer.getvalue()
