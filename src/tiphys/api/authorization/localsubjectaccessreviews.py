"""LocalSubjectAccessReview: may this subject do that, in this namespace?"""

from collections.abc import Iterator

from tiphys.api.authorization.reviews import (
    GROUP,
    shown_url,
    validate_metadata,
    validate_selectors,
    validate_subject,
    validate_target,
)
from tiphys.api.kind import Kind
from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj, get


def validate(review: Obj) -> Iterator[FieldError]:
    spec = review.get("spec") or {}
    yield from validate_target(spec)
    yield from validate_subject(spec)
    yield from validate_selectors(spec)
    yield from validate_metadata(review, namespaced=True)
    resource, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != get(review, ("metadata", "namespace"), ""):
        at = "spec.resourceAttributes.namespace"
        yield invalid(at, resource.get("namespace", ""), "must match metadata.namespace")
    if url is not None:
        yield invalid("spec.nonResourceAttributes", shown_url(url), "disallowed on this kind of request")


LOCAL_SUBJECT_ACCESS_REVIEWS = Kind(
    group=GROUP,
    version="v1",
    kind="LocalSubjectAccessReview",
    plural="localsubjectaccessreviews",
    singular="localsubjectaccessreview",
    schema="io.k8s.api.authorization.v1.LocalSubjectAccessReview",
    verbs=("create",),
    validate=validate,
    ephemeral=True,
)
