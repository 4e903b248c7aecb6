"""Objects become answers in the form that the client asked for. The usual form is the stored bytes, untouched."""

from collections.abc import Sequence

import orjson

from tiphys.api.kind import Kind
from tiphys.apiserver import table
from tiphys.apiserver.call import Call
from tiphys.apiserver.negotiate import JSON, YAML, Form, accept
from tiphys.base.http.messages import Response
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import quote
from tiphys.machinery.go_yaml import to_yaml
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj

_BROWSERS = ("curl", "Wget", "Mozilla/5.0")


_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))


def form_of(call: Call) -> Form:
    return accept(call.request.headers.get("accept", ""), streamed=call.info.verb in ("list", "watch"))


def check_view(call: Call, *, collection: bool = False) -> None:
    """Before anything is done for it: whether what was asked for can be shown in the form that was asked for."""
    view = form_of(call).view
    if not view:
        return
    if view == "Table":
        include = call.option("includeObject")
        if include not in ("", "Metadata", "Object", "None"):
            told = f"includeObject: Invalid value: {quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
            raise errors.bad_request(f"Unable to convert to Table as requested: {told}")
    elif view.endswith("List") != collection:
        kind = call.served.kind
        what, shown = ("a list", kind.list_kind) if collection else ("not a list", kind.kind)
        raise ApiError(
            406, "NotAcceptable", f"you requested {view}, but the requested object is {what} (*{package_of(kind)}.{shown})"
        )


_INTERNAL_PACKAGES = {"": "core", "events.k8s.io": "core"}


def package_of(kind: Kind) -> str:
    """Where upstream keeps the type that all versions of a kind become, which some of its messages mention."""
    return _INTERNAL_PACKAGES.get(kind.group) or kind.group.partition(".")[0]


def record(call: Call, found: Record, status: int = 200) -> Response:
    """One object of the stored version; others are converted first."""
    form, found = form_of(call), call.served.shown(found)
    if form.plain and not call.served.converts and not wants_pretty(call):
        return Response(status, found.data, JSON, headers_of(call))
    return tree(call, from_store(call, found), status)


def from_store(call: Call, found: Record) -> Obj:
    """The record as an object of the version in the URL."""
    if call.served.custom:
        return call.served.shown(found).tree()
    obj = found.tree()
    conversion = call.served.kind.conversion
    return conversion.from_stored(obj) if conversion is not None else obj


def tree(call: Call, obj: Obj, status: int = 200) -> Response:
    form = form_of(call)
    if form.view == "Table":
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            return encoded(call, obj, status, form)
        if call.served.kind.ephemeral:
            raise errors.not_acceptable((JSON, YAML))
        meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        include = call.option("includeObject") or "Metadata"
        obj = table.of(call.served.kind, [obj], meta, call.now, include, form.view_version)
    elif form.view:
        obj = table.partial(obj, form.view_version)
    return encoded(call, obj, status, form)


def encoded(call: Call, obj: Obj, status: int = 200, form: Form | None = None) -> Response:
    """Any tree (a Status, a review, a list in an unusual form) as JSON or YAML."""
    form = form or form_of(call)
    if form.yaml:
        return Response(status, to_yaml(obj), YAML, headers_of(call))
    return Response(status, to_json(obj, form.pretty or wants_pretty(call)), JSON, headers_of(call))


def to_json(obj: Obj, pretty: bool = False) -> bytes:
    if pretty:
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return orjson.dumps(obj)


def wants_pretty(call: Call) -> bool:
    """As the query says, else as people and their tools would like it."""
    if "pretty" in call.request.query and (said := call.option("pretty")):
        return said in _TRUE
    return call.request.headers.get("user-agent", "").startswith(_BROWSERS)


def headers_of(call: Call) -> Sequence[tuple[str, str]]:
    """Warnings."""
    # Attempts that start again may say the same again.
    return [warning_header(text) for text in dict.fromkeys(call.warnings)] if call.warnings else ()


def warning_header(text: str) -> tuple[str, str]:
    """RFC 7234 warning 299, as kubectl shows it."""
    plain = "".join(each if each >= " " else " " for each in text)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{quoted}"'


def success(details: Obj) -> Obj:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def error(problem: ApiError, accept_header: str = "", warnings: Sequence[str] = ()) -> Response:
    """A refusal. Told in YAML only to those who ask for it."""
    try:
        form = accept(accept_header)
    except ApiError:
        form = Form()
    status = problem.to_status()
    body, media = (to_yaml(status), YAML) if form.yaml else (to_json(status, form.pretty), JSON)
    headers = [*map(warning_header, dict.fromkeys(warnings)), *problem.headers.items()]
    if problem.details is not None and problem.details.retry_after and "Retry-After" not in problem.headers:
        headers.append(("Retry-After", str(problem.details.retry_after)))
    return Response(problem.code, body, media, headers)


def refusal(call: Call, problem: ApiError) -> Response:
    """Of a request that got as far as its verb: with the warnings that came up on the way."""
    return error(problem, call.request.headers.get("accept", ""), call.warnings)


def page_not_found() -> Response:
    """Where not even the group of the path is known, upstream has left its own handlers behind."""
    return page(404, "404 page not found\n")


def page(status: int, text: str) -> Response:
    return Response(status, text.encode(), "text/plain; charset=utf-8", (("X-Content-Type-Options", "nosniff"),))
