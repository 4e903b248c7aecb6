"""Tokens of service accounts that a kubelet asks for: for its own pods, and for audiences that they mention."""

from collections.abc import Iterator

from tiphys.apiserver.admission.chain import Attributes
from tiphys.apiserver.authz.attributes import Attributes as Question
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery.tree import Obj, get

AUDIENCE_VERB = "request-serviceaccounts-token-audience"


def check_pod(attributes: Attributes, node: str, uid: str, pod: Obj) -> None:
    if uid != pod["metadata"].get("uid"):
        raise attributes.forbidden(
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
    if pod["spec"].get("nodeName") != node:
        raise attributes.forbidden("node requested token bound to a pod scheduled on a different node")


async def check_audience(attributes: Attributes, pod: Obj, lookup: Lookup, authorizer: Authorizer) -> None:
    asked = get(attributes.obj, ("spec", "audiences")) or [""]
    if len(asked) > 1:
        raise attributes.forbidden("node may only request 0 or 1 audiences")
    audience, user = asked[0], attributes.user
    if audience in _audiences(pod, lookup):
        return
    question = Question(user, AUDIENCE_VERB, "", "v1", audience, namespace=attributes.namespace, name=attributes.name)
    decision = await authorizer.authorize(question)
    if not decision.allowed:
        told = f'audience "{audience}" not found in pod spec volume, {user.name} is not authorized to request tokens '
        raise attributes.forbidden(told + "for this audience")


def _audiences(pod: Obj, lookup: Lookup) -> Iterator[str]:
    """Those that the pod's volumes mention, by themselves or through their CSI drivers."""
    for volume in pod["spec"].get("volumes") or ():
        for source in get(volume, ("projected", "sources")) or ():
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"].get("audience", "")
        driver = lookup.get("csidrivers", _driver(volume, pod, lookup))
        for request in get(driver, ("spec", "tokenRequests")) or ():
            yield request.get("audience", "")


def _driver(volume: Obj, pod: Obj, lookup: Lookup) -> str:
    """Empty if it is not a volume of a CSI driver."""
    if "csi" in volume:
        return str(volume["csi"].get("driver", ""))
    if "ephemeral" in volume:
        claim = f"{pod['metadata']['name']}-{volume['name']}"
    else:
        claim = get(volume, ("persistentVolumeClaim", "claimName"), "")
    found = lookup.get("persistentvolumeclaims", f"{pod['metadata']['namespace']}/{claim}") if claim else None
    bound = get(found, ("spec", "volumeName"))
    persistent = lookup.get("persistentvolumes", bound) if bound else None
    return str(get(persistent, ("spec", "csi", "driver"), ""))
