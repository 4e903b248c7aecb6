"""Certificates of a running cluster, renewed before they end. Servers take new ones from their files (`watched_files.py`)."""

from collections.abc import Callable
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.cmd import certificates
from tiphys.cmd.certificates import Certificates
from tiphys.cmd.data_directory import Unusable

INTERVAL = 12 * 3600.0


async def keep_renewed(
    pki: Path, addresses: list[str], made: Certificates, clock: Clock, log: Logger, changed: Callable[[Certificates], None]
) -> None:
    """Until it is cancelled. `changed` is told of new ones once they are in their files."""
    while True:
        await clock.sleep(INTERVAL)
        try:
            found = certificates.ensure(pki, addresses, clock)
            if found != made:
                changed(found)
        except Unusable as problem:
            log.error("the certificates cannot be renewed", problem=str(problem))
            continue
        if found != made:
            log.info("renewed certificates that were about to end", folder=str(pki))
        made = found
