"""ImagePolicyWebhook: somebody outside is asked which images may run, and the answer kept for a while.

https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#imagepolicywebhook
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.apiserver.authn.review_client import NotAnswered
from tiphys.client.kubeconfig import Access
from tiphys.machinery.tree import Obj

MOST_REMEMBERED = 1024
AUDIT_PREFIX = "imagepolicywebhook.image-policy.k8s.io/"
FAILED_OPEN = "alpha.image-policy.k8s.io/failed-open"
"""On a pod that came in because nobody could be asked."""
_TOLD = ".image-policy.k8s.io/"
"""Annotations with that in their keys are told to whom is asked."""

Ask = Callable[[Obj], Awaitable[Obj]]


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """What the configuration says; times are in seconds."""

    access: Access
    allowed_seconds: float
    denied_seconds: float
    first_pause: float
    default_allow: bool = False
    """What counts while nobody can be asked."""


class ImagePolicyWebhook:
    name = "ImagePolicyWebhook"
    operations = CREATE_UPDATE
    resources = PODS

    def __init__(self, ask: Ask, policy: ImagePolicy) -> None:
        self._ask = ask
        self._policy = policy
        self._kept: OrderedDict[bytes, tuple[Obj, float]] = OrderedDict()

    async def validate(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.subresource not in ("", "ephemeralcontainers"):
            return None
        question = _question(attributes)
        key = orjson.dumps(question)
        kept = self._kept.get(key)
        if kept is not None and attributes.now < kept[1]:
            self._kept.move_to_end(key)
            return _heed(attributes, kept[0])
        review = {"kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1", "metadata": {}, "spec": question}
        try:
            status = await self._ask({**review, "status": {"allowed": False}})
        except NotAnswered as problem:
            return self._nobody_answered(attributes, problem)
        self._keep(key, status, attributes.now)
        return _heed(attributes, status)

    def _nobody_answered(self, attributes: Attributes, problem: NotAnswered) -> None:
        if not self._policy.default_allow:
            raise attributes.forbidden(str(problem))
        attributes.annotations[f"{AUDIT_PREFIX}failed-open"] = "true"
        assert attributes.obj is not None
        attributes.obj["metadata"].setdefault("annotations", {})[FAILED_OPEN] = "true"

    def _keep(self, key: bytes, status: Obj, now: float) -> None:
        policy = self._policy
        seconds = policy.allowed_seconds if status.get("allowed") else policy.denied_seconds
        if seconds <= 0:
            return
        self._kept[key] = status, now + seconds
        if len(self._kept) > MOST_REMEMBERED:
            self._kept.popitem(last=False)


def _question(attributes: Attributes) -> Obj:
    assert attributes.obj is not None
    spec, annotations = attributes.obj["spec"], attributes.obj["metadata"].get("annotations") or {}
    parts = ("ephemeralContainers",) if attributes.subresource else ("containers", "initContainers")
    told = {key: value for key, value in sorted(annotations.items()) if _TOLD in key}
    return {
        "containers": [{"image": each.get("image", "")} for part in parts for each in spec.get(part) or ()],
        **({"annotations": told} if told else {}),
        "namespace": attributes.namespace,
    }


def _heed(attributes: Attributes, status: Obj) -> None:
    for key, value in (status.get("auditAnnotations") or {}).items():
        attributes.annotations[AUDIT_PREFIX + key] = value
    if status.get("allowed"):
        return
    reason = status.get("reason")
    why = f"image policy webhook backend denied one or more images: {reason}" if reason else ""
    raise attributes.forbidden(why or "one or more images rejected by webhook backend")
