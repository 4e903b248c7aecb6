"""Signs approved requests to Kubernetes' own signers, each with the authority that it was given."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.controllers.certificates import requests
from tiphys.controllers.certificates.authority import Authority, CannotSign
from tiphys.controllers.controller import Base, Caches, own
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Plan, Update
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

YEAR = 365 * 86400.0
SHORTEST = 600.0


@dataclass(frozen=True, slots=True)
class World:
    request: Obj
    authority: Authority | None
    """Of the signer that is asked; None: somebody else's."""
    serial: int
    now: float


class RequestSigning(Base):
    name = "certificatesigningrequest-signing-controller"
    component = "csrsigning"
    watches = (own(CERTIFICATE_SIGNING_REQUESTS),)

    def __init__(self, authorities: Mapping[str, Authority], serial: Callable[[], int], longest: float = YEAR) -> None:
        """`authorities` by signer name; they may change while it works. `longest`: seconds that a certificate may live."""
        self._authorities = authorities
        self._serial = serial
        self._longest = longest

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        request = caches[CERTIFICATE_SIGNING_REQUESTS].get(key)
        if request is None or requests.is_issued(request):
            return None
        return World(request, self._authorities.get(request["spec"].get("signerName", "")), self._serial(), now)

    def reconcile(self, world: World) -> Plan:
        request, spec = world.request, world.request["spec"]
        approved = requests.has(request, "Approved") and not requests.has(request, "Denied")
        if world.authority is None or not approved or requests.has(request, "Failed"):
            return NOTHING
        usages = spec.get("usages") or ()
        try:
            asked = requests.parse(request)
            problem = requests.SIGNERS[spec["signerName"]](asked, usages)
            if problem:
                return _write(request, conditions=_failed(request, problem, world.now))
            life = lifetime(spec.get("expirationSeconds"), self._longest)
            pem = world.authority.sign(asked, usages, life, world.serial, world.now)
        except requests.Unreadable as unreadable:
            return Plan(retry=f'unable to parse csr "{meta.name(request)}": {unreadable}')
        except CannotSign as refused:
            return Plan(retry=f"error auto signing csr: {refused}")
        return _write(request, certificate=base64.b64encode(pem).decode())


def lifetime(wanted: int | None, longest: float) -> float:
    """What is asked for, within bounds."""
    return longest if wanted is None or wanted > longest else max(float(wanted), SHORTEST)


def _failed(request: Obj, problem: str, now: float) -> list[Obj]:
    condition = {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": problem,
        "lastUpdateTime": times.rfc3339(now),
    }
    return [*request["status"]["conditions"], condition]


def _write(request: Obj, **status: object) -> Plan:
    changed = {**request, "status": {**(request.get("status") or {}), **status}}
    return Plan((Update(CERTIFICATE_SIGNING_REQUESTS, changed, "status", tolerate=NOT_FOUND),))
