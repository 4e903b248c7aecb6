"""Approves what kubelets ask for: a client certificate for themselves, if the API server says that they may have one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS, GROUP
from tiphys.client.interface import Client
from tiphys.controllers.certificates import requests
from tiphys.controllers.controller import Base, Caches, Inquiry, own
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Inquire, Plan, Update
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_MESSAGES = {
    "selfnodeclient": "Auto approving self kubelet client certificate after SubjectAccessReview.",
    "nodeclient": "Auto approving kubelet client certificate after SubjectAccessReview.",
}
"""By the permission that is asked for, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class World:
    request: Obj
    permitted: str | None
    """The permission that whoever asks was found to have; empty: none. None: nobody has asked the server."""


async def review(client: Client, arguments: Mapping[str, Any]) -> str:
    """The first of the permissions `tried` that the asker has."""
    spec = arguments["spec"]
    for permission in arguments["tried"]:
        attributes = {
            "group": GROUP,
            "resource": CERTIFICATE_SIGNING_REQUESTS.plural,
            "subresource": permission,
            "verb": "create",
            "version": "*",
        }
        asked = {"user": spec.get("username", ""), "resourceAttributes": attributes}
        asked |= {field: spec[field] for field in ("uid", "groups", "extra") if spec.get(field)}
        kind = SUBJECT_ACCESS_REVIEWS
        answer = await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}, "spec": asked})
        if answer["status"].get("allowed"):
            return str(permission)
    return ""


class RequestApproving(Base):
    name = "certificatesigningrequest-approving-controller"
    component = "csrapproving"
    watches = (own(CERTIFICATE_SIGNING_REQUESTS),)
    inquiries: Mapping[str, Inquiry] = {"review": review}

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        request = caches[CERTIFICATE_SIGNING_REQUESTS].get(key)
        return World(request, caches.answers.get(key)) if request is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        request = world.request
        if requests.is_issued(request) or requests.has(request, "Approved") or requests.has(request, "Denied"):
            return NOTHING
        try:
            tried = recognized(request)
        except requests.Unreadable as problem:
            return Plan(retry=f'unable to parse csr "{meta.name(request)}": {problem}')
        if not tried:
            return NOTHING
        if world.permitted is None:
            return Plan((Inquire("review", {"tried": tried, "spec": request["spec"]}),))
        if not world.permitted:
            listed = " ".join(tried)
            told = f'recognized csr "{meta.name(request)}" as [{listed}] but subject access review was not approved'
            return Plan(retry=told)
        condition = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": _MESSAGES[world.permitted]}
        status = request.get("status") or {}
        decided = {**status, "conditions": [*(status.get("conditions") or ()), condition]}
        approved = {**request, "status": decided}
        return Plan((Update(CERTIFICATE_SIGNING_REQUESTS, approved, "approval", tolerate=NOT_FOUND),))


def recognized(request: Obj) -> tuple[str, ...]:
    """The permissions any of which would do; none if this is not a kubelet's request for a client certificate."""
    spec = request["spec"]
    if spec.get("signerName") != requests.KUBELET_CLIENT:
        return ()
    asked = requests.parse(request)
    if requests.client_kubelet_problem(asked, spec.get("usages") or ()):
        return ()
    itself = spec.get("username", "") == requests.common_name(asked)
    return ("selfnodeclient", "nodeclient") if itself else ("nodeclient",)
