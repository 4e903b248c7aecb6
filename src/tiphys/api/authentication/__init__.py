"""authentication.k8s.io/v1: questions about who somebody is. Nothing here is ever stored."""

from tiphys.api.authentication.selfsubjectreviews import SELF_SUBJECT_REVIEWS
from tiphys.api.authentication.tokenreviews import TOKEN_REVIEWS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (SELF_SUBJECT_REVIEWS, TOKEN_REVIEWS)
