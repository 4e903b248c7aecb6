"""Errors that are the caller's fault, as upstream words them, and the Status object that carries them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Details:
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Obj, ...] = ()
    retry_after: int = 0

    def to_tree(self) -> Obj:
        tree: Obj = {}
        for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind), ("uid", self.uid)):
            if value:
                tree[key] = value
        if self.causes:
            tree["causes"] = list(self.causes)
        if self.retry_after:
            tree["retryAfterSeconds"] = self.retry_after
        return tree


@dataclass(slots=True)
class ApiError(Exception):
    """The caller's mistake, or a refusal. Becomes a Status; never a traceback."""

    code: int
    reason: str
    message: str
    details: Details | None = None
    headers: dict[str, str] = field(default_factory=dict)
    continue_token: str = ""

    def __str__(self) -> str:
        return self.message

    def to_status(self) -> Obj:
        meta: Obj = {}
        if self.continue_token:
            meta["continue"] = self.continue_token
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": meta,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details.to_tree()
        status["code"] = self.code
        return status


def qualified(plural: str, group: str) -> str:
    """`deployments.apps`, or `pods` in the core group: how upstream names a resource in its messages."""
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> ApiError:
    what = qualified(plural, group)
    return ApiError(404, "NotFound", f'{what} "{name}" not found', Details(name, group, plural))


def no_such_path() -> ApiError:
    """For a resource or path that is not served at all."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", Details())


def already_exists(group: str, plural: str, name: str) -> ApiError:
    what = qualified(plural, group)
    return ApiError(409, "AlreadyExists", f'{what} "{name}" already exists', Details(name, group, plural))


def no_unique_name(group: str, plural: str, name: str) -> ApiError:
    """Every name generated for a new object was taken."""
    told = (
        f'{qualified(plural, group)} "{name}" already exists, the server was not able to generate a unique name for the object'
    )
    return ApiError(409, "AlreadyExists", told, Details(name, group, plural, retry_after=1))


OBJECT_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(group: str, plural: str, name: str, why: str = OBJECT_MODIFIED, causes: tuple[Obj, ...] = ()) -> ApiError:
    what = qualified(plural, group)
    message = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return ApiError(409, "Conflict", message, Details(name, group, plural, causes=causes))


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    what = qualified(plural, group)
    if name:
        message = f'{what} "{name}" is forbidden: {why}'
    elif plural:
        message = f"{what} is forbidden: {why}"
    else:
        message = f"forbidden: {why}"
    return ApiError(403, "Forbidden", message, Details(name, group, plural))


def invalid(group: str, kind: str, name: str, problems: Iterable[FieldError]) -> ApiError:
    """422 with one cause a problem; repeated problems are told once in the message."""
    listed = list(problems)
    texts = list(dict.fromkeys(str(problem) for problem in listed))
    told = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    causes = tuple({"reason": problem.kind.reason, "message": problem.body(), "field": problem.field} for problem in listed)
    message = f'{qualified(kind, group)} "{name}" is invalid: {told}'
    return ApiError(422, "Invalid", message, Details(name, group, kind, causes=causes))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> ApiError:
    return ApiError(401, "Unauthorized", message)


def method_not_supported(group: str, plural: str, action: str) -> ApiError:
    what = qualified(plural, group)
    return ApiError(
        405, "MethodNotAllowed", f'{action} is not supported on resources of kind "{what}"', Details("", group, plural)
    )


def not_acceptable(accepted: Iterable[str]) -> ApiError:
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    told = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", told)


def expired(message: str, continue_token: str = "") -> ApiError:
    return ApiError(410, "Expired", message, continue_token=continue_token)


def too_large_resource_version(current: int, asked: int) -> ApiError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        Details(causes=(cause,), retry_after=1),
    )


def too_many_requests(message: str, retry_after: int = 1) -> ApiError:
    details = Details(retry_after=retry_after)
    return ApiError(429, "TooManyRequests", message, details, headers={"Retry-After": str(retry_after)})


def request_entity_too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def server_timeout(group: str, plural: str, operation: str, retry_after: int) -> ApiError:
    what = qualified(plural, group)
    told = f"The {operation} operation against {what} could not be completed at this time, please try again."
    return ApiError(500, "ServerTimeout", told, Details(operation, group, plural, retry_after=retry_after))


def timeout(message: str) -> ApiError:
    return ApiError(504, "Timeout", f"Timeout: {message}", Details())


def service_unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)


def internal(message: str) -> ApiError:
    cause = {"message": message}
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", Details(causes=(cause,)))


def method_not_allowed() -> ApiError:
    """For a method that the path does not take at all."""
    told = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", told, Details())
