"""Who may say what in the status of a claim: which devices it has, and who uses it, is the scheduler's; what is told of a
device is its driver's. Both are resources that only authorizers know of, `resourceclaims/binding` and `resourceclaims/driver`.

KEP-4817; upstream's pkg/registry/resource/utils.go.
"""

from collections.abc import AsyncIterator, Iterator

from tiphys.api.resource.allocations import device_key
from tiphys.apiserver.authn.user import split_service_account
from tiphys.apiserver.authz.attributes import Attributes
from tiphys.apiserver.authz.denial import denial
from tiphys.apiserver.call import Call
from tiphys.machinery.fields import FieldError, forbidden
from tiphys.machinery.tree import Obj

_NODE = "authentication.kubernetes.io/node-name"


async def problems(call: Call, new: Obj, old: Obj) -> AsyncIterator[FieldError]:
    """`new` and `old` are what the status is to be, and is."""
    verb = call.info.verb
    if any((new.get(name) or None) != (old.get(name) or None) for name in ("allocation", "reservedFor")):
        refusal = await _refusal(call, verb, "binding")
        if refusal:
            what = f'changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="{verb}"'
            yield forbidden("status.allocation", f"{what} permission: {refusal}")
    if new.get("allocation") is None:
        return  # what was told of devices goes together with them
    verbs = [f"{prefix}:{verb}" for prefix in _prefixes(call, new["allocation"])]
    for driver in sorted(set(_changed_drivers(new, old))):
        refusals = [await _refusal(call, each, "driver", call.info.namespace, driver) for each in verbs]
        if all(refusals):
            what = f'changing status.devices requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
            yield forbidden("status.devices", f"{what} permission: {refusals[0]}")


async def _refusal(call: Call, verb: str, subresource: str, namespace: str = "", name: str = "") -> str:
    info = call.info
    asked = Attributes(call.user, verb, info.group, info.version, info.resource, subresource, namespace, name)
    decision = await call.backend.authorizer.authorize(asked)
    if decision.allowed:
        return ""
    return str(denial(asked, ": ".join(filter(None, (decision.problem, decision.reason)))))


def _prefixes(call: Call, allocation: Obj) -> Iterator[str]:
    """A driver on the node that the devices are on needs less."""
    on = dict(call.user.extra).get(_NODE, ())
    if split_service_account(call.user.name) is not None and len(on) == 1 and on[0] and on[0] == _only_node(allocation):
        yield "associated-node"
    yield "arbitrary-node"


def _only_node(allocation: Obj) -> str:
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    match terms[0].get("matchFields"):
        case [{"key": "metadata.name", "operator": "In", "values": [str(name)]}]:
            return name
    return ""


def _changed_drivers(new: Obj, old: Obj) -> Iterator[str]:
    told, before = ({device_key(each): each for each in of.get("devices") or ()} for of in (new, old))
    return (key[0] for key in told.keys() | before.keys() if told.get(key) != before.get(key))
