"""Do two API servers on one etcd show the same objects?

    python -m bench.same A.kubeconfig B.kubeconfig

Lists every kind from both and compares the objects as they are, names, versions and times included. The second server must keep
JSON (upstream's: --storage-media-type=application/json). Prints what differs; ends with 1 if anything does.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvloop

from bench.stories.compare import fields
from tiphys.api.registry import KINDS
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

Objects = dict[str, dict[str, Obj] | None]
"""By version and kind, then by key; None where a server does not serve it."""


async def everything(path: Path) -> Objects:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(path)), user_agent="bench")
    found: Objects = {}
    try:
        for kind in KINDS:
            if not kind.ephemeral:
                name = f"{kind.api_version} {kind.kind}"
                try:
                    found[name] = {meta.key(each): each for each in (await client.list(kind)).items}
                except ApiError as error:
                    if error.code not in (404, 405):
                        raise
                    found[name] = None
    finally:
        client.close()
    return found


def differences(one: Objects, other: Objects) -> Iterator[str]:
    for kind in sorted(one):
        ours, theirs = one[kind], other[kind]
        if ours is None or theirs is None:
            if ours is not theirs:
                yield f"{kind}: served by {'the second' if ours is None else 'the first'} only"
            continue
        for key in sorted({*ours, *theirs}):
            a: Any = ours.get(key, "-")
            b: Any = theirs.get(key, "-")
            yield from (f"{kind} {key}: {line}" for line in fields(a, b, ""))


async def run(paths: list[Path]) -> int:
    one, other = [await everything(path) for path in paths]
    found = list(differences(one, other))
    for line in found:
        print(line[:400])
    count = sum(len(each or ()) for each in one.values())
    print(f"{len(one)} kinds, {count} objects, {len(found)} differences")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig", type=Path, nargs=2)
    return int(uvloop.run(run(parser.parse_args().kubeconfig)))


if __name__ == "__main__":
    sys.exit(main())
