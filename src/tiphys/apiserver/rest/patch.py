"""PATCH: JSON, merge and strategic merge patches, server-side apply. Each yields the object that an update would send.

A patch is read only when the object it is for is there, as upstream does; and what a patch makes of an object is refused in
words of its own, which show the patched object (or, for strategic merge, the patch).
"""

from typing import Any

from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.rest import answers, bodies, create, patch_problems, storing, tracking, update
from tiphys.apiserver.rest.patch_problems import ShownPatch
from tiphys.base.http.messages import Response
from tiphys.machinery import decode, errors, tree
from tiphys.machinery.decode.problems import strict_warnings
from tiphys.machinery.errors import ApiError, Details
from tiphys.machinery.patch import json as json_patch
from tiphys.machinery.patch import merge, strategic
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_YAML = "application/apply-patch+yaml"
ACCEPTED = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_YAML)
CUSTOM_ACCEPTED = (JSON_PATCH, MERGE_PATCH, APPLY_YAML)


async def patch(call: Call) -> Response:
    media = media_type(call)
    answers.form_of(call)
    applying = media == APPLY_YAML
    check_write_options(call, "PatchOptions", apply=applying)

    async def attempt() -> tuple[Record, bool]:
        current = await update.load(call)
        # Read anew for each attempt: what an attempt takes over from it, the attempt may change.
        body = Body(call, media)
        if applying:
            return await _apply(call, current, body)
        if current is None:
            raise call.served.not_found(call.info.name)
        return await update.change_object(call, current, lambda old: patched(call, old, body), patched=True), False

    record, created = await storing.read_modify_write(attempt, call)
    return answers.record(call, record, 201 if created else 200)


def media_type(call: Call) -> str:
    """Raises ApiError 415, in the words of whoever refuses it upstream: the router, or the handler of custom resources."""
    media = call.request.headers.get("content-type", "").partition(";")[0]
    if call.served.custom:
        if media not in CUSTOM_ACCEPTED:
            raise errors.unsupported_media_type(CUSTOM_ACCEPTED)
    elif media not in ACCEPTED:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", Details())
    return media


class Body:
    """The patch, read once, when it is first needed."""

    def __init__(self, call: Call, media: str) -> None:
        self.call = call
        self.media = media
        self.validation = call.option("fieldValidation") or "Warn"
        self.duplicates: list[str] = []
        self._tree: Any = None
        self._is_read = False

    @property
    def lenient(self) -> bool:
        return self.validation == "Ignore"

    @property
    def tree(self) -> Any:
        if not self._is_read:
            self._tree = self._read()
            self._is_read = True
        return self._tree

    def _read(self) -> Any:
        if self.call.tree is not None:
            return bodies.private(self.call.tree)
        body = self.call.request.body
        as_media = "application/yaml" if self.media == APPLY_YAML else "application/json"
        try:
            parsed = decode.parse(body, as_media, find_duplicates=not self.lenient)
        except ApiError as problem:
            raise errors.bad_request(patch_problems.unreadable(problem.message, self.media, lenient=self.lenient)) from None
        self.duplicates = list(parsed.duplicates)
        if parsed.tree == {} and body.strip() == b"null":
            return None if self.media in (JSON_PATCH, MERGE_PATCH) else {}
        return parsed.tree


def patched(call: Call, old: Obj, body: Body) -> Obj:
    strict: list[str] = []
    shown: ShownPatch
    if body.media == JSON_PATCH:
        new = json_patch.apply(old, body.tree, lenient=body.lenient)
        if not body.lenient:
            strict = json_patch.strict_problems(body.tree)
        shown = ShownPatch(new, False, custom=call.served.custom)
    elif body.media == MERGE_PATCH:
        new = merge.apply(old, body.tree, lenient=body.lenient)
        shown = ShownPatch(new, False, custom=call.served.custom)
    else:
        if not isinstance(body.tree, dict):
            raise errors.bad_request(patch_problems.not_a_map(body.tree))
        new = strategic.apply(old, body.tree, call.served.node)
        # Upstream makes a value of the kind in the URL of it, so that nobody looks at what the patch says of that.
        new = {**new, "kind": old["kind"], "apiVersion": old["apiVersion"]}
        shown = ShownPatch(body.tree, True)
    return finish(call, new, old, body, strict, shown)


def finish(call: Call, new: Any, old: Obj, body: Body, strict: list[str], shown: ShownPatch) -> Obj:
    """The patched object is checked and defaulted like one that was sent whole."""
    served = call.served
    if not isinstance(new, dict):
        raise shown.refusal(patch_problems.no_type_meta(new))
    new = dict(new)
    unknown: list[str] | None = None if body.lenient else []
    try:
        bodies.check_kind(call, new)
        obj = _conformed(call, new, old, unknown)
    except ApiError as problem:
        raise shown.refusal(problem.message.partition(f" cannot be handled as a {served.kind.kind}: ")[2]) from None
    if unknown or body.duplicates or strict:
        told = [*strict_warnings([], body.duplicates), *strict] if not unknown else []
        told = told or [*strict, *strict_warnings(unknown or [], body.duplicates)]
        if body.validation == "Strict":
            raise shown.refusal("strict decoding error: " + ", ".join(told))
        call.warnings.extend(told)
    return _settled(call, obj)


_ABSENT = object()


def _conformed(call: Call, new: Obj, old: Obj, unknown: list[str] | None) -> Obj:
    """What the patch has left alone came out of the store, and needs no second look."""
    known = {name for name, value in new.items() if type(value) is dict and value is old.get(name, _ABSENT)}
    if not known:
        return decode.conform(new, call.served.node, unknown)
    checked = decode.conform({name: value for name, value in new.items() if name not in known}, call.served.node, unknown)
    obj = {name: new[name] if name in known else checked[name] for name in new if name in known or name in checked}
    for name, value in checked.items():
        obj.setdefault(name, value)
    return obj


def _settled(call: Call, obj: Obj) -> Obj:
    metadata: Obj = dict(obj.get("metadata") or {})
    if call.info.subresource == "status":
        # The rest will be that of the stored object, whatever is done to it; this much the hooks may change in place.
        for name, value in metadata.items():
            if name != "managedFields":
                metadata[name] = tree.copy(value)
        if "status" in obj:
            obj["status"] = tree.copy(obj["status"])
    obj["metadata"] = metadata
    bodies.check_name(call, obj)
    call.served.kind.default(obj)
    return obj


async def _apply(call: Call, current: Record | None, body: Body) -> tuple[Record, bool]:
    if current is None and call.info.subresource:
        raise call.served.not_found(call.info.name)
    if current is None:
        obj = applied(call, None, body)
        if uid := obj["metadata"].get("uid"):
            kind = call.served.kind
            told = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(kind.group, kind.plural, call.info.name, told)
        return await create.create_object(call, obj, applied=True), True

    def change(old: Obj) -> Obj:
        return applied(call, old, body)

    return await update.change_object(call, current, change, applied=True, patched=True), False


def _check_type(call: Call, configuration: Obj) -> None:
    kind = call.served.kind
    version, name = configuration.get("apiVersion") or "", configuration.get("kind") or ""
    if name == kind.kind and version == kind.api_version:
        return
    group, _, plain = str(version).rpartition("/")
    raise errors.bad_request(f"invalid object type: {group}/{plain}, Kind={name}")


def applied(call: Call, old: Obj | None, body: Body) -> Obj:
    if not isinstance(body.tree, dict):
        raise errors.bad_request(patch_problems.unreadable_map(body.tree))
    _check_type(call, body.tree)
    new = tracking.applied(call, old, body.tree)
    if body.duplicates:
        if body.validation == "Strict":
            raise errors.bad_request(patch_problems.duplicates_in_yaml(body.duplicates))
        call.warnings.extend(decode.as_warnings(body.duplicates))
    return _settled(call, _conformed(call, new, old or {}, None))
