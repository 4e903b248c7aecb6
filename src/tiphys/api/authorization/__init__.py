"""authorization.k8s.io/v1: questions about what somebody may do. Nothing here is ever stored."""

from tiphys.api.authorization.localsubjectaccessreviews import LOCAL_SUBJECT_ACCESS_REVIEWS
from tiphys.api.authorization.selfsubjectaccessreviews import SELF_SUBJECT_ACCESS_REVIEWS
from tiphys.api.authorization.selfsubjectrulesreviews import SELF_SUBJECT_RULES_REVIEWS
from tiphys.api.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
)
