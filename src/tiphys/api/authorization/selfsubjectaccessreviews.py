"""SelfSubjectAccessReview: may I do that?"""

from collections.abc import Iterator

from tiphys.api.authorization.reviews import GROUP, validate_metadata, validate_selectors, validate_target
from tiphys.api.kind import Kind
from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj


def validate(review: Obj) -> Iterator[FieldError]:
    spec = review.get("spec") or {}
    yield from validate_target(spec)
    yield from validate_selectors(spec)
    yield from validate_metadata(review)


SELF_SUBJECT_ACCESS_REVIEWS = Kind(
    group=GROUP,
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    singular="selfsubjectaccessreview",
    schema="io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
    validate=validate,
    ephemeral=True,
)
