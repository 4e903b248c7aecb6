"""TokenReview: whose token this is."""

from tiphys.api.kind import Kind

TOKEN_REVIEWS = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenReview",
    plural="tokenreviews",
    singular="tokenreview",
    schema="io.k8s.api.authentication.v1.TokenReview",
    namespaced=False,
    verbs=("create",),
    ephemeral=True,
)
