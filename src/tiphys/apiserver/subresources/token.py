"""serviceaccounts/token: a signed token for a service account, bound to what asks for it."""

from dataclasses import dataclass

from tiphys.api.authentication import tokenrequests
from tiphys.apiserver.authn import token_request
from tiphys.apiserver.authn.service_account import Issuer
from tiphys.apiserver.authn.token_request import Objects, Settings
from tiphys.apiserver.call import Call
from tiphys.apiserver.rest import answers, tracking, update
from tiphys.apiserver.subresources import bodies
from tiphys.base.http.messages import Response
from tiphys.machinery import errors, tree
from tiphys.machinery.tree import Obj

_BUCKETS = {"pods": "pods", "nodes": "minions", "secrets": "secrets"}


@dataclass(frozen=True, slots=True)
class TokenGrants:
    """Who signs, and within which limits."""

    issuer: Issuer
    settings: Settings


async def create(call: Call) -> Response:
    request = bodies.read(call, bodies.TOKEN_REQUEST)
    tokenrequests.default(request)
    tracking.created(bodies.as_kind(call, bodies.TOKEN_REQUEST), request)
    current = await update.load(call)
    if current is None:
        raise call.served.not_found(call.info.name)
    account = current.tree()
    token_request.check(request, account)
    attributes = call.attributes("CREATE", call.info.name, request, None, {})
    await call.backend.admission.admit(attributes)
    await call.backend.admission.validate(attributes)
    objects = await _objects(call, request)
    grants = call.backend.tokens
    granted = token_request.grant(request, account, objects, grants.issuer, grants.settings, call.now, call.backend.new_uid())
    call.warnings.extend(granted.warnings)
    return answers.encoded(call, granted.answer, 201)


async def _objects(call: Call, request: Obj) -> Objects:
    """What the token is bound to; a token of a pod also tells its node."""
    wanted = token_request.bound_to(request)
    if wanted is None:
        return Objects()
    plural, name = wanted
    found = await _stored(call, plural, name)
    if found is None:
        raise errors.not_found("", plural, name)
    if plural == "pods":
        node_name = tree.get(found, ("spec", "nodeName"))
        node = await _stored(call, "nodes", node_name) if node_name else None
        return Objects(pod=found, node=node)
    return Objects(node=found) if plural == "nodes" else Objects(secret=found)


async def _stored(call: Call, plural: str, name: str) -> Obj | None:
    key = name if plural == "nodes" else f"{call.namespace}/{name}"
    record = await call.backend.store.get(_BUCKETS[plural], key)
    return record.tree() if record is not None else None
