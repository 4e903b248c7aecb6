"""Whether this machine can do what a proxy mode needs, before anything is started."""

import asyncio

from tiphys.cmd.data_directory import Unusable
from tiphys.proxy.apply import Refused
from tiphys.proxy.ipvs import kernel


def check(mode: str, scheduler: str = "rr") -> None:
    """Raises Unusable."""
    if mode != "ipvs":
        return
    try:
        asyncio.run(kernel.check(scheduler))
    except Refused as problem:
        raise Unusable(f"can't use the IPVS proxier: {problem}") from None
