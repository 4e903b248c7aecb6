"""Who is woken by what: pods by their claims and templates, claims by their pods."""

from collections.abc import Iterable, Mapping

from tiphys.api.core.pods import PODS
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceclaimtemplates import RESOURCECLAIMTEMPLATES
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch
from tiphys.controllers.plan import Plan
from tiphys.controllers.resource_claim import claims, pods
from tiphys.controllers.resource_claim.claims import ClaimWorld
from tiphys.controllers.resource_claim.pods import (
    PodWorld,
    claims_used,
    consumers,
    names_of,
    needs_claims_no_more,
    templates_of,
)
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_POD, _CLAIM = "pod:", "claim:"


def _templates_used(pod: Obj) -> Iterable[str]:
    return [f"{meta.namespace(pod)}/{name}" for name in templates_of(pod)]


def _keys_of_pod(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    gone = old if old is not None and (new is None or meta.uid(old) != meta.uid(new)) else None
    done = new if new is not None and needs_claims_no_more(new) else None
    for pod in (gone, done):
        if pod is not None:
            yield from (_CLAIM + key for key in claims_used(pod))
    if new is not None and pods.wants(new):
        yield _POD + meta.key(new)


def _keys_of_claim(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    claim = new if new is not None else old
    assert claim is not None
    if new is not None:
        yield _CLAIM + meta.key(claim)
    yield from pods.keys(caches[PODS].by("resource claim", meta.key(claim)))
    owner = meta.controller_of(claim)
    if owner is not None and owner.get("kind") == "Pod":
        yield f"{_POD}{meta.namespace(claim)}/{owner['name']}"


def _keys_of_template(_old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    return pods.keys(caches[PODS].by("resource claim template", meta.key(new))) if new is not None else ()


class ResourceClaimController(Base):
    name = "resourceclaim-controller"
    component = "resource_claim"
    watches = (
        Watch(PODS, _keys_of_pod, {"resource claim": claims_used, "resource claim template": _templates_used}),
        Watch(RESOURCECLAIMS, _keys_of_claim),
        Watch(RESOURCECLAIMTEMPLATES, _keys_of_template),
    )
    inquiries: Mapping[str, Inquiry] = {"pods": claims.ask, "give back": claims.give_back}

    def observe(self, key: str, caches: Caches, now: float) -> PodWorld | ClaimWorld | None:  # noqa: ARG002 - time plays no part
        if key.startswith(_POD):
            return _pod_world(key.removeprefix(_POD), caches)
        claim = caches[RESOURCECLAIMS].get(key.removeprefix(_CLAIM))
        if claim is None:
            return None
        owner = meta.controller_of(claim)
        names = {each["name"] for each in (*consumers(claim), *((owner,) if owner is not None else ()))}
        found = {name: caches[PODS].get(f"{meta.namespace(claim)}/{name}") for name in names}
        answer = caches.answers.get(key)
        return ClaimWorld(claim, {name: pod for name, pod in found.items() if pod is not None}, answer or {})

    @staticmethod
    def reconcile(world: PodWorld | ClaimWorld) -> Plan:
        return pods.provide(world) if isinstance(world, PodWorld) else claims.tidy(world)


def _pod_world(key: str, caches: Caches) -> PodWorld | None:
    pod = caches[PODS].get(key)
    if pod is None or not pods.wants(pod):
        return None
    space = meta.namespace(pod)
    found = {name: caches[RESOURCECLAIMS].get(f"{space}/{name}") for name in names_of(pod)}
    templates = {name: caches[RESOURCECLAIMTEMPLATES].get(f"{space}/{name}") for name in templates_of(pod)}
    return PodWorld(
        pod,
        {name: claim for name, claim in found.items() if claim is not None},
        tuple(caches[RESOURCECLAIMS].owned_by(pod)),
        {name: template for name, template in templates.items() if template is not None},
    )
