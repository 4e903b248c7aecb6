"""One request as the audit log tells it: an Event of audit.k8s.io/v1 for each of its stages. Core."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tiphys.apiserver.audit.policy import NAMES, Decision, Level
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.negotiate import JSON, content_type
from tiphys.apiserver.request import RequestInfo
from tiphys.base.http.messages import Request
from tiphys.machinery import decode, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_MAX_AGENT = 1024
_WITH_BODY = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_STATUS_FIELDS = ("status", "message", "reason", "details", "code")
_PATCHES = ("json-patch", "merge-patch")


@dataclass(slots=True)
class Entry:
    """What is known of a request so far."""

    id: str
    decision: Decision
    request: Request
    info: RequestInfo
    user: User | None
    received: float
    annotations: dict[str, str] = field(default_factory=dict)
    status: Obj | None = None
    sent: Any = None
    """The request's object, as far as the level wants it."""
    answered: Any = None
    failed: bool = False
    about: Obj = field(default_factory=dict)
    """What the request's object adds to the reference: the name in it, mostly."""

    def event(self, stage: str, now: float) -> Obj:
        told: Obj = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": NAMES[self.decision.level],
            "auditID": self.id,
            "stage": stage,
            "requestURI": self.request.path + (f"?{self.request.query}" if self.request.query else ""),
            "verb": self.info.verb,
            "user": _user(self.user.impersonator or self.user) if self.user is not None else {},
        }
        if self.user is not None and self.user.impersonator is not None:
            told["impersonatedUser"] = _user(self.user)
        told["sourceIPs"] = _sources(self.request)
        if agent := self.request.headers.get("user-agent", ""):
            told["userAgent"] = agent if len(agent) <= _MAX_AGENT else agent[:_MAX_AGENT] + "...TRUNCATED"
        if self.info.is_resource:
            told["objectRef"] = {**self.about, **_reference(self.info)}
        if self.status is not None:
            told["responseStatus"] = {"metadata": {}, **self.status}
        if self.sent is not None:
            told["requestObject"] = self.sent
        if self.answered is not None:
            told["responseObject"] = self.answered
        told["requestReceivedTimestamp"] = times.rfc3339_micro(self.received)
        told["stageTimestamp"] = times.rfc3339_micro(now)
        if self.annotations:
            told["annotations"] = dict(self.annotations)
        return told

    def read_request(self) -> None:
        """Once it is known that the request goes ahead."""
        body = self.request.body
        if not body or not self.info.is_resource or self.info.verb not in _WITH_BODY:
            return
        media = content_type(self.request.headers.get("content-type", JSON))
        wanted = self.decision.level >= Level.REQUEST
        if self.info.verb == "patch" and any(each in media for each in _PATCHES):
            self.sent = _json(body) if wanted else None
            return
        try:
            tree = decode.parse(body, media, find_duplicates=False).tree
        except ApiError:
            return  # the verb itself refuses it
        if not isinstance(tree, dict):
            return
        if self.info.verb.startswith("delete"):
            # The version that upstream decodes them to, and tells.
            tree = {**tree, "apiVersion": "meta.k8s.io/__internal"}
        metadata = tree.get("metadata") or {}
        for field_name in ("namespace", "name", "uid", "resourceVersion"):
            if metadata.get(field_name):
                self.about[field_name] = metadata[field_name]
        if wanted:
            self.sent = _without_managed_fields(tree) if self.decision.omit_managed_fields else tree

    def read_answer(self, code: int, body: bytes | Sequence[bytes] = b"", media: str = "") -> None:
        """A Status is told at every level, other objects only where the level says so."""
        self.status = {"code": code}
        if media != JSON:
            return
        whole = body if isinstance(body, bytes) else b"".join(body)
        is_status = whole.startswith(b'{"kind":"Status"')
        if is_status:
            tree = orjson.loads(whole)
            self.status = {"code": code, **{key: tree[key] for key in _STATUS_FIELDS if key in tree}}
        if whole and self.decision.level >= Level.REQUEST_RESPONSE:
            self.answered = _without_managed_fields(orjson.loads(whole)) if self.decision.omit_managed_fields else _json(whole)


def _user(user: User) -> Obj:
    told: Obj = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = list(user.groups)
    if user.extra:
        told["extra"] = user.extras()
    return told


def _reference(info: RequestInfo) -> Obj:
    told = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {key: value for key, value in told.items() if value}


def _sources(request: Request) -> list[str]:
    """The client as proxies tell of it, then who is at the other end."""
    forwarded = [each.strip() for each in request.headers.get("x-forwarded-for", "").split(",") if each.strip()]
    real = request.headers.get("x-real-ip", "")
    found = [*forwarded, *([real] if real and real not in forwarded else ())]
    return [*found, *([request.peer.address] if request.peer.address and request.peer.address not in found[-1:] else ())]


def _json(text: bytes) -> Any:
    """JSON that is taken over as it stands, if it is JSON at all."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return orjson.Fragment(text)


def _without_managed_fields(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    metadata = tree.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        tree = {**tree, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
    if isinstance(tree.get("items"), list):
        tree = {**tree, "items": [_without_managed_fields(each) for each in tree["items"]]}
    return tree
