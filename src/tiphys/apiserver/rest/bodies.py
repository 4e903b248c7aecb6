"""A request body becomes a tree of the kind that the URL names: parsed, checked against the schema, defaulted."""

from typing import Any

import orjson

from tiphys.apiserver.call import Call
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.negotiate import OFFERED, content_type
from tiphys.apiserver.rest import answers
from tiphys.machinery import decode, errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import invalid
from tiphys.machinery.tree import Obj


def private(tree: Any) -> Any:
    """A copy that may be changed; by way of the encoder, which is faster than any walk."""
    return orjson.loads(orjson.dumps(tree))


class Pristine:
    """An object that several attempts begin with; each may change what it takes."""

    __slots__ = ("_encoded", "_first")

    def __init__(self, obj: Obj) -> None:
        self._first: Obj | None = obj
        self._encoded = orjson.dumps(obj)

    def take(self) -> Obj:
        first, self._first = self._first, None
        if first is not None:
            return first
        again: Obj = orjson.loads(self._encoded)
        return again


def read_object(call: Call, *, also: tuple[str, ...] = ()) -> Obj:
    """The object of a create or update, in the version of the URL, with defaults; `also`: versions that mean the same."""
    served = call.served
    obj = _parsed(call, served, also)
    served.kind.default(obj)
    return obj


def _parsed(call: Call, served: Served, also: tuple[str, ...]) -> Obj:
    validation = call.option("fieldValidation") or "Warn"
    if call.tree is not None:
        parsed: Obj = private(call.tree)
        duplicates: list[str] = []
    else:
        parsed, duplicates = read_tree(call, find_duplicates=validation != "Ignore")
    if also and parsed.get("apiVersion") in also:
        parsed["apiVersion"] = served.kind.api_version
    check_kind(call, parsed)
    unknown: list[str] | None = None if validation == "Ignore" else []
    obj = decode.conform(parsed, served.node, unknown)
    report_strictness(call, validation, unknown or [], duplicates)
    if type(obj.get("metadata")) is not dict:
        obj["metadata"] = {}
    return obj


def read_tree(call: Call, *, find_duplicates: bool) -> tuple[Obj, list[str]]:
    media = content_type(call.request.headers.get("content-type", ""))
    if media not in OFFERED:
        raise errors.unsupported_media_type(OFFERED)
    result = decode.parse(call.request.body, media, find_duplicates=find_duplicates, wanted=call.served.kind.kind)
    call.order_of_fields = result.order
    if not isinstance(result.tree, dict):
        raise errors.bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal into an object")
    return result.tree, list(result.duplicates)


def report_strictness(call: Call, validation: str, unknown: list[str], duplicates: list[str]) -> None:
    """Unknown and duplicate fields refuse a Strict write and warn on an ordinary one."""
    if not unknown and not duplicates:
        return
    told = strictness(call, unknown, duplicates)
    if validation == "Strict":
        kind = call.served.kind
        problem = "strict decoding error: " + ", ".join(told)
        raise decode.cannot_handle(kind.kind, kind.api_version, kind.kind, problem)
    call.warnings.extend(decode.as_warnings(told))


def strictness(call: Call, unknown: list[str], duplicates: list[str]) -> list[str]:
    """Unknown and duplicate fields in upstream's words and order. The text of a custom resource is read as a whole before its
    fields are judged, those of its metadata first."""
    if not call.served.custom:
        return decode.complaints(unknown, duplicates, call.order_of_fields)
    judged = sorted(unknown, key=lambda each: (not each.startswith("metadata."), each))
    return [*decode.complaints([], duplicates), *decode.complaints(judged, [])]


_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def check_kind(call: Call, parsed: Obj) -> None:
    """apiVersion and kind may be left out; where given they must be those of the URL."""
    kind = call.served.kind
    if kind.custom:
        _check_custom_kind(call, parsed)
        return
    version, name = parsed.get("apiVersion") or kind.api_version, parsed.get("kind") or kind.kind
    if name != kind.kind or version != kind.api_version:
        raise _other_kind(call, version, name)
    parsed["apiVersion"], parsed["kind"] = version, name


def _check_custom_kind(call: Call, parsed: Obj) -> None:
    """Custom resources have to say what they are."""
    kind = call.served.kind
    for field, called in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not parsed.get(field):
            shown = call.request.body.decode(errors="replace")
            raise decode.unrecognized(kind.kind, f"Object '{called}' is missing in '{shown}'", call.request.body)
    version, name = parsed["apiVersion"], parsed["kind"]
    if version != kind.api_version:
        told = f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        raise errors.bad_request(told)
    if name != kind.kind:
        own = (parsed.get("metadata") or {}).get("name", "")
        raise errors.invalid(kind.group, name, own, [invalid("kind", name, f"must be {kind.kind}")])


def _other_kind(call: Call, version: str, name: str) -> ApiError:
    kind = call.served.kind
    if version.count("/") > 1:
        body = call.request.body
        return decode.unrecognized(kind.kind, f"unexpected GroupVersion string: {version}", body)
    group, _, plain = version.rpartition("/")
    if call.backend.catalogue.by_gvk(group, plain, name) is None:
        told = f'no kind "{name}" is registered for version "{version}" in scheme "{_SCHEME}"'
    elif (group, name) == (kind.group, kind.kind):
        expected = kind.api_version
        told = f"the API version in the data ({version}) does not match the expected API version ({expected})"
        return errors.bad_request(told)
    else:
        told = f"converting ({plain}.{name}) to ({answers.package_of(kind)}.{kind.kind}): unknown conversion"
    return decode.cannot_handle(name, version, kind.kind, told)


def check_name(call: Call, obj: Obj) -> None:
    """The name and namespace in the body, where given, are those of the URL."""
    check_namespace(call, obj)
    metadata = obj["metadata"]
    sent = metadata.get("name", "")
    if not sent:
        raise errors.bad_request(
            f"the name of the object ({call.info.name} based on URL) was undeterminable: name must be provided"
        )
    if sent != call.info.name:
        raise errors.bad_request(f"the name of the object ({sent}) does not match the name on the URL ({call.info.name})")


def check_namespace(call: Call, obj: Obj) -> None:
    metadata = obj["metadata"]
    if not call.served.kind.namespaced:
        metadata.pop("namespace", None)
        return
    sent = metadata.get("namespace", "")
    if not sent:
        metadata["namespace"] = call.namespace
    elif sent != call.namespace:
        raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")
