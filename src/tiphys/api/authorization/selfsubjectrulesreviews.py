"""SelfSubjectRulesReview: what may I do in this namespace? (The lack of a namespace is told by the handler: a 400.)"""

from tiphys.api.authorization.reviews import GROUP
from tiphys.api.kind import Kind

SELF_SUBJECT_RULES_REVIEWS = Kind(
    group=GROUP,
    version="v1",
    kind="SelfSubjectRulesReview",
    plural="selfsubjectrulesreviews",
    singular="selfsubjectrulesreview",
    schema="io.k8s.api.authorization.v1.SelfSubjectRulesReview",
    namespaced=False,
    verbs=("create",),
    ephemeral=True,
)
