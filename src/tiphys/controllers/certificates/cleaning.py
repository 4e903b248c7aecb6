"""Deletes requests that have served: an hour after the answer, a day after a question that nobody answers.

Upstream looks once an hour; here each goes when its own time has come.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.base import tls
from tiphys.controllers.certificates.requests import is_issued
from tiphys.controllers.controller import Base, Caches, own
from tiphys.controllers.plan import NOTHING, Delete, Plan
from tiphys.machinery import times
from tiphys.machinery.tree import Obj, get

ANSWERED = 3600.0
PENDING = 86400.0


@dataclass(frozen=True, slots=True)
class World:
    request: Obj
    now: float


class RequestCleaning(Base):
    name = "certificatesigningrequest-cleaner-controller"
    component = "csrcleaner"
    watches = (own(CERTIFICATE_SIGNING_REQUESTS),)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        request = caches[CERTIFICATE_SIGNING_REQUESTS].get(key)
        return World(request, now) if request is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        ends = min(deadlines(world.request), default=None)
        if ends is None:
            return NOTHING
        # Times are whole seconds: one more, and it is later by any count.
        left = ends + 1 - world.now
        return Plan(again_in=left) if left > 0 else Plan((Delete(CERTIFICATE_SIGNING_REQUESTS, world.request),))


def deadlines(request: Obj) -> Iterator[float]:
    """After any of which nobody needs it."""
    listed = get(request, ("status", "conditions")) or ()
    issued = is_issued(request)
    if not listed:
        yield times.parse(request["metadata"]["creationTimestamp"]) + PENDING
    for condition in listed:
        since = condition.get("lastUpdateTime")
        kind = condition.get("type")
        if since and kind in ("Denied", "Failed"):
            yield times.parse(since) + ANSWERED
        elif since and kind == "Approved":
            yield times.parse(since) + (ANSWERED if issued else PENDING)
        if kind == "Approved" and issued:
            yield from _end_of(request["status"]["certificate"])


def _end_of(certificate: str) -> Iterator[float]:
    try:
        yield tls.expires_at(base64.b64decode(certificate))
    except (binascii.Error, ValueError):
        return
