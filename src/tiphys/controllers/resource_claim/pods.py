"""Claims of pods: made from templates, told in the pod's status, reserved for pods that came to a node past the scheduler."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tiphys.api.core.pods import PODS, facts
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.controllers.plan import Create, Emit, Note, Patch, Plan, Write, set_status
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

MANAGER = "ResourceClaimController"
CLAIM_OF_POD = "resource.kubernetes.io/pod-claim-name"
MOST_CONSUMERS = 256
_BASE_LENGTH = 57


@dataclass(frozen=True, slots=True)
class PodWorld:
    pod: Obj
    claims: Mapping[str, Obj]
    """By name: those that the pod names, or its status."""
    owned: tuple[Obj, ...]
    """Made for this pod."""
    templates: Mapping[str, Obj]


def wants(pod: Obj) -> list[Obj]:
    found: list[Obj] = pod["spec"].get("resourceClaims") or []
    return found


def told(pod: Obj) -> dict[str, Obj]:
    """What its status says of its claims, by their names within the pod."""
    return {each["name"]: each for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}


def names_of(pod: Obj) -> Iterator[str]:
    """Of the claims that it uses, as far as they have names."""
    statuses = told(pod)
    for each in wants(pod):
        name = each.get("resourceClaimName") or statuses.get(each["name"], {}).get("resourceClaimName")
        if name:
            yield name
    extended = get(pod, ("status", "extendedResourceClaimStatus", "resourceClaimName"))
    if extended:
        yield extended


def claims_used(pod: Obj) -> Iterable[str]:
    """The same as keys."""
    return [f"{meta.namespace(pod)}/{name}" for name in names_of(pod)]


def templates_of(pod: Obj) -> Iterator[str]:
    return (each["resourceClaimTemplateName"] for each in wants(pod) if each.get("resourceClaimTemplateName"))


def needs_claims_no_more(pod: Obj) -> bool:
    return facts.is_finished(pod) or (facts.is_deleting(pod) and not pod["spec"].get("nodeName"))


def is_reserved(claim: Obj, pod: Obj) -> bool:
    return any(each.get("uid") == meta.uid(pod) for each in consumers(claim))


def consumers(claim: Obj) -> list[Obj]:
    found: list[Obj] = (claim.get("status") or {}).get("reservedFor") or []
    return found


def provide(world: PodWorld) -> Plan:
    pod = world.pod
    if meta.is_deleting(pod) or needs_claims_no_more(pod):
        return Plan()
    statuses, writes = told(pod), list[Write]()
    found: dict[str, str] = {}
    for wanted in wants(pod):
        template = wanted.get("resourceClaimTemplateName")
        known = statuses.get(wanted["name"])
        if template is None or (known is not None and not known.get("resourceClaimName")):
            continue
        present = world.claims.get(known["resourceClaimName"]) if known is not None else None
        if present is None or not meta.is_controlled_by(present, pod):
            # Made before, but not yet told: the process may have died in between.
            present = next((each for each in world.owned if meta.annotations(each).get(CLAIM_OF_POD) == wanted["name"]), None)
        if present is not None:
            found[wanted["name"]] = meta.name(present)
        elif template not in world.templates:
            why = f'resource claim template "{template}": resourceclaimtemplate.resource.k8s.io "{template}" not found'
            return Plan((*writes, Emit(_failed(pod, wanted, why))), retry=why)
        else:
            failed = _failed(pod, wanted, "create ResourceClaim : {error}")
            writes.append(Create(RESOURCECLAIMS, _claim(pod, wanted, world.templates[template]), failed=failed))
    if writes:
        return Plan(tuple(writes))
    if any(statuses.get(name, {}).get("resourceClaimName") != claim for name, claim in found.items()):
        return Plan((_tell(pod, found),))
    return _reserve(world) if pod["spec"].get("nodeName") else Plan()


def _failed(pod: Obj, wanted: Obj, why: str) -> Note:
    return Note(pod, "FailedResourceClaimCreation", f"PodResourceClaim {wanted['name']}: {why}", "Warning")


def _claim(pod: Obj, wanted: Obj, template: Obj) -> Obj:
    given = template["spec"].get("metadata") or {}
    metadata: Obj = {
        "generateName": base_name(meta.name(pod), wanted["name"]),
        "namespace": meta.namespace(pod),
        "annotations": {**(given.get("annotations") or {}), CLAIM_OF_POD: wanted["name"]},
        "ownerReferences": [{key: value for key, value in reference_to(PODS, pod).items() if key != "blockOwnerDeletion"}],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    head = {"apiVersion": RESOURCECLAIMS.api_version, "kind": RESOURCECLAIMS.kind, "metadata": metadata}
    return {**head, "spec": template["spec"]["spec"]}


def base_name(pod: str, claim: str) -> str:
    """Both names are cut, in proportion to their lengths, so that something is left of each."""
    base = f"{pod}-{claim}-"
    if len(base) <= _BASE_LENGTH:
        return base
    return f"{pod[: len(pod) * _BASE_LENGTH // len(base)]}-{claim[: len(claim) * _BASE_LENGTH // len(base)]}"


def _tell(pod: Obj, claims: Mapping[str, str]) -> Write:
    listed = [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]
    applied = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": meta.name(pod), "namespace": meta.namespace(pod), "uid": meta.uid(pod)},
        "status": {"resourceClaimStatuses": listed},
    }
    return Patch(PODS, pod, applied, "apply", "status", manager=MANAGER)


def _reserve(world: PodWorld) -> Plan:
    """Reservations are the scheduler's, for pods that went through it."""
    pod, statuses = world.pod, told(world.pod)
    writes: list[Write] = []
    for wanted in wants(pod):
        name = wanted.get("resourceClaimName") or statuses.get(wanted["name"], {}).get("resourceClaimName")
        claim = world.claims.get(name) if name else None
        if claim is None:
            if name:
                break
            continue
        if not wanted.get("resourceClaimName") and not meta.is_controlled_by(claim, pod):
            why = f"ResourceClaim {meta.key(claim)} was not created for Pod {meta.key(pod)} (Pod is not owner)"
            return Plan(tuple(writes), retry=why)
        allocated = get(claim, ("status", "allocation")) is not None
        if allocated and not is_reserved(claim, pod) and len(consumers(claim)) < MOST_CONSUMERS:
            consumer = {"resource": "pods", "name": meta.name(pod), "uid": meta.uid(pod)}
            status = {**claim["status"], "reservedFor": [*consumers(claim), consumer]}
            writes.append(set_status(RESOURCECLAIMS, claim, status))
    return Plan(tuple(writes))


def keys(pods: Iterable[Obj]) -> Iterator[str]:
    return (f"pod:{meta.key(pod)}" for pod in pods)
