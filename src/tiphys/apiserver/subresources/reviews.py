"""Objects that are questions: who is this, may they? Answered at once, never stored."""

from collections.abc import Awaitable, Callable, Sequence

from tiphys.apiserver.authn.user import User, extra_of
from tiphys.apiserver.authz.attributes import Attributes, Decision, Verdict
from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.negotiate import OFFERED
from tiphys.apiserver.rest import answers, tracking
from tiphys.apiserver.rest import bodies as rest_bodies
from tiphys.base.http.messages import Response
from tiphys.machinery import errors, selectors, times
from tiphys.machinery.tree import Obj


async def create(call: Call) -> Response:
    if answers.form_of(call).view:
        raise errors.not_acceptable(OFFERED)
    check_write_options(call)
    review = rest_bodies.read_object(call)
    rest_bodies.check_namespace(call, review)
    kind = call.served.kind
    tracking.created(call, review)
    attributes = call.attributes("CREATE", "", review, None, {})
    await call.backend.admission.admit(attributes)
    problems = list(kind.validate(review))
    if problems:
        raise errors.invalid(kind.group, "", "", problems)
    await call.backend.admission.validate(attributes)
    review["status"] = await _ANSWERS[kind.plural](call, review)
    if kind.plural == "selfsubjectreviews":
        review["metadata"]["creationTimestamp"] = times.rfc3339(call.now)
    elif kind.plural == "selfsubjectrulesreviews":
        # The answer is about whoever asks, and repeats nothing of the question.
        review.update(metadata={}, spec={})
    return answers.tree(call, review, 201)


async def _self_subject(call: Call, _: Obj) -> Obj:
    return {"userInfo": user_info(call.user)}


def user_info(user: User) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = user.extras()
    return info


async def _token(call: Call, review: Obj) -> Obj:
    spec = review.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    found = await call.backend.identity.review(token, tuple(spec.get("audiences") or ()), call.now)
    if isinstance(found, str):
        return {"user": {}, "error": found} if found else {"user": {}}
    status: Obj = {"authenticated": True, "user": user_info(found.user)}
    if found.audiences:
        status["audiences"] = list(found.audiences)
    return status


def _asked(user: User, spec: Obj) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""))
    what = spec.get("resourceAttributes") or {}
    return Attributes(
        user,
        what.get("verb", ""),
        what.get("group", ""),
        what.get("version", ""),
        what.get("resource", ""),
        what.get("subresource", ""),
        what.get("namespace", ""),
        what.get("name", ""),
        field_selector=_selector(what.get("fieldSelector"), _field),
        label_selector=_selector(what.get("labelSelector"), _label),
    )


def _selector(given: Obj | None, spell: Callable[[Obj], str]) -> str:
    """As a request would have it."""
    if not given:
        return ""
    raw: str = given.get("rawSelector", "")
    return raw or ",".join(filter(None, map(spell, given.get("requirements") or ())))


def _field(requirement: Obj) -> str:
    values: Sequence[str] = requirement.get("values") or ()
    if len(values) != 1 or requirement.get("operator") not in ("In", "NotIn"):
        return ""
    sign = "=" if requirement["operator"] == "In" else "!="
    return f"{requirement.get('key', '')}{sign}{selectors.escape(values[0])}"


def _label(requirement: Obj) -> str:
    key, listed = requirement.get("key", ""), ",".join(requirement.get("values") or ())
    told: dict[str, str] = {
        "In": f"{key} in ({listed})",
        "NotIn": f"{key} notin ({listed})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
    }
    return told.get(str(requirement.get("operator")), "")


def _verdict(decision: Decision) -> Obj:
    status: Obj = {"allowed": decision.allowed}
    if decision.verdict is Verdict.DENY:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if decision.problem:
        status["evaluationError"] = decision.problem
    return status


async def _subject_access(call: Call, review: Obj) -> Obj:
    spec = review["spec"]
    user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra_of(spec.get("extra") or {}))
    return _verdict(await call.backend.authorizer.authorize(_asked(user, spec)))


async def _local_subject_access(call: Call, review: Obj) -> Obj:
    where = (review["spec"].get("resourceAttributes") or {}).get("namespace", "")
    if where != call.namespace:
        told = f"spec.resourceAttributes.namespace must match namespace: {call.namespace}"
        raise errors.bad_request(told)
    return await _subject_access(call, review)


async def _self_subject_access(call: Call, review: Obj) -> Obj:
    return _verdict(await call.backend.authorizer.authorize(_asked(call.user, review["spec"])))


async def _self_subject_rules(call: Call, review: Obj) -> Obj:
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    return call.backend.authorizer.rules_for(call.user, namespace).to_status()


_ANSWERS: dict[str, Callable[[Call, Obj], Awaitable[Obj]]] = {
    "tokenreviews": _token,
    "selfsubjectreviews": _self_subject,
    "subjectaccessreviews": _subject_access,
    "localsubjectaccessreviews": _local_subject_access,
    "selfsubjectaccessreviews": _self_subject_access,
    "selfsubjectrulesreviews": _self_subject_rules,
}
