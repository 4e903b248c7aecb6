"""SubjectAccessReview: may this subject do that?"""

from collections.abc import Iterator

from tiphys.api.authorization.reviews import GROUP, validate_metadata, validate_selectors, validate_subject, validate_target
from tiphys.api.kind import Kind
from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj


def validate(review: Obj) -> Iterator[FieldError]:
    spec = review.get("spec") or {}
    yield from validate_target(spec)
    yield from validate_subject(spec)
    yield from validate_selectors(spec)
    yield from validate_metadata(review)


SUBJECT_ACCESS_REVIEWS = Kind(
    group=GROUP,
    version="v1",
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    singular="subjectaccessreview",
    schema="io.k8s.api.authorization.v1.SubjectAccessReview",
    namespaced=False,
    verbs=("create",),
    validate=validate,
    ephemeral=True,
)
