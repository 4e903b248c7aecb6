"""SelfSubjectReview: whom the server takes the asker for."""

from tiphys.api.kind import Kind

SELF_SUBJECT_REVIEWS = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="SelfSubjectReview",
    plural="selfsubjectreviews",
    singular="selfsubjectreview",
    schema="io.k8s.api.authentication.v1.SelfSubjectReview",
    namespaced=False,
    verbs=("create",),
    ephemeral=True,
)
