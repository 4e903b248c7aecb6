"""The operations of a kind: which methods its paths take, with which parameters. Core."""

from collections.abc import Iterable
from typing import Any

from tiphys.api.kind import Kind
from tiphys.apiserver.discovery import subresources
from tiphys.machinery.tree import Obj

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCALE = "io.k8s.api.autoscaling.v1.Scale"

_TEXT = "string"
_WRITE = {
    "dryRun": (
        _TEXT,
        "When present, indicates that modifications should not be persisted. "
        "Valid values are: - All: all dry run stages will be processed",
    ),
    "fieldManager": (_TEXT, "The name of the actor that makes these changes; at most 128 printable characters."),
    "fieldValidation": (_TEXT, "What to do with unknown and duplicate fields: Ignore, Warn (the default) or Strict."),
}
_FORCE = {"force": ("boolean", "Take over fields that conflict with other managers; for apply requests only.")}
_DELETE = {
    "dryRun": _WRITE["dryRun"],
    "gracePeriodSeconds": ("integer", "Seconds before the object is deleted; zero: at once."),
    "propagationPolicy": (_TEXT, "What happens to dependents: Orphan, Background or Foreground."),
    "orphanDependents": ("boolean", "Deprecated: use propagationPolicy."),
}
_LIST = {
    "allowWatchBookmarks": ("boolean", "Ask for events of type BOOKMARK."),
    "continue": (_TEXT, "The token of the previous page."),
    "fieldSelector": (_TEXT, "Restricts the answer to objects whose fields match."),
    "labelSelector": (_TEXT, "Restricts the answer to objects whose labels match."),
    "limit": ("integer", "The most objects in one answer."),
    "resourceVersion": (_TEXT, "Constraint on which resource versions the answer may be served from."),
    "resourceVersionMatch": (_TEXT, "How resourceVersion is applied: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "Begin a watch with the present state, then a bookmark."),
    "timeoutSeconds": ("integer", "Ends the call after this time, whether or not it was active."),
    "watch": ("boolean", "Stream changes instead of listing."),
}
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_MEDIA = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


def _parameter(name: str, kind: str, told: str, *, v3: bool, where: str = "query") -> Obj:
    made: Obj = {"name": name, "in": where, "description": told}
    if where == "path":
        made["required"] = True
    shape: Obj = {"type": kind, "uniqueItems": True}
    return {**made, "schema": shape} if v3 else {**made, **shape}


def list_schema(kind: Kind) -> str:
    return kind.schema.removesuffix(kind.kind) + kind.list_kind


class Operations:
    """Spells operations for one version of OpenAPI."""

    def __init__(self, prefix: str, *, v3: bool) -> None:
        self._prefix = prefix
        self._v3 = v3

    def paths(self, kind: Kind) -> Iterable[tuple[str, Obj]]:
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        base = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
        collection, item = self._collection(kind), self._item(kind)
        if collection:
            yield base, self._place(collection, kind, named=False)
        if item:
            yield f"{base}/{{name}}", self._place(item, kind, named=True)
        if kind.namespaced and "list" in kind.verbs:
            everywhere = self._operation(kind, "list", "list", "ForAllNamespaces", _LIST, None, list_schema(kind))
            yield f"{root}/{kind.plural}", {"get": everywhere}
        for name in subresources(kind):
            if name in kind.parts or name in ("status", "scale"):
                part = self._part(kind, name, SCALE if name == "scale" else kind.schema)
                yield f"{base}/{{name}}/{name}", self._place(part, kind, named=True)

    def _collection(self, kind: Kind) -> Obj:
        made: Obj = {}
        if "list" in kind.verbs:
            made["get"] = self._operation(kind, "list", "list", "", _LIST, None, list_schema(kind))
        if "create" in kind.verbs:
            made["post"] = self._operation(kind, "post", "create", "", _WRITE, kind.schema, kind.schema)
        if "deletecollection" in kind.verbs:
            parameters = {**_DELETE, **_LIST}
            made["delete"] = self._operation(
                kind, "deletecollection", "deleteCollection", "", parameters, META + "DeleteOptions", META + "Status"
            )
        return made

    def _item(self, kind: Kind) -> Obj:
        made: Obj = {}
        if "get" in kind.verbs:
            made["get"] = self._operation(kind, "get", "read", "", {}, None, kind.schema)
        if "update" in kind.verbs:
            made["put"] = self._operation(kind, "put", "replace", "", _WRITE, kind.schema, kind.schema)
        if "patch" in kind.verbs:
            made["patch"] = self._operation(kind, "patch", "patch", "", {**_WRITE, **_FORCE}, META + "Patch", kind.schema)
        if "delete" in kind.verbs:
            made["delete"] = self._operation(kind, "delete", "delete", "", _DELETE, META + "DeleteOptions", META + "Status")
        return made

    def _part(self, kind: Kind, name: str, schema: str) -> Obj:
        suffix = name[0].upper() + name[1:]
        made = {
            "get": self._operation(kind, "get", "read", suffix, {}, None, schema),
            "put": self._operation(kind, "put", "replace", suffix, _WRITE, schema, schema),
            "patch": self._operation(kind, "patch", "patch", suffix, {**_WRITE, **_FORCE}, META + "Patch", schema),
        }
        if schema == SCALE and not kind.custom:
            for each in made.values():
                each["x-kubernetes-group-version-kind"] = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        return made

    def _place(self, methods: Obj, kind: Kind, *, named: bool) -> Obj:
        parameters = [_parameter("pretty", _TEXT, "If 'true', then the output is pretty printed.", v3=self._v3)]
        if kind.namespaced:
            told = "object name and auth scope, such as for teams and projects"
            parameters.insert(0, _parameter("namespace", _TEXT, told, v3=self._v3, where="path"))
        if named:
            parameters.insert(0, _parameter("name", _TEXT, f"name of the {kind.kind}", v3=self._v3, where="path"))
        return {**methods, "parameters": parameters}

    def _operation(self, kind: Kind, action: str, verb: str, suffix: str, query: Any, body: str | None, answer: str) -> Obj:
        scope = "Namespaced" if kind.namespaced and suffix != "ForAllNamespaces" else ""
        made: Obj = {
            "operationId": f"{verb}{_group_word(kind)}{kind.version.capitalize()}{scope}{kind.kind}{suffix}",
            "description": f"{verb} {kind.kind}",
            "tags": [f"{_group_word(kind).lower()}_{kind.version}"],
            "parameters": [_parameter(name, shape, told, v3=self._v3) for name, (shape, told) in query.items()],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        }
        if body is not None:
            self._add_body(made, body, action)
        self._add_answer(made, answer, action)
        return made

    def _add_body(self, made: Obj, body: str, action: str) -> None:
        schema = {"$ref": self._prefix + body}
        if self._v3:
            media = _PATCHES if action == "patch" else ("*/*",)
            made["requestBody"] = {"content": {each: {"schema": schema} for each in media}}
            if action in ("post", "put", "patch"):
                made["requestBody"]["required"] = True
            return
        made["parameters"].append({"name": "body", "in": "body", "schema": schema, "required": "delete" not in action})
        made["consumes"] = list(_PATCHES) if action == "patch" else ["*/*"]

    def _add_answer(self, made: Obj, answer: str, action: str) -> None:
        schema = {"$ref": self._prefix + answer}
        codes = {"post": ("200", "201", "202"), "put": ("200", "201"), "patch": ("200", "201"), "delete": ("200", "202")}
        words = {"200": "OK", "201": "Created", "202": "Accepted"}
        answers: Obj = {}
        for code in codes.get(action, ("200",)):
            if self._v3:
                answers[code] = {"description": words[code], "content": {each: {"schema": schema} for each in _MEDIA}}
            else:
                answers[code] = {"description": words[code], "schema": schema}
        answers["401"] = {"description": "Unauthorized"}
        made["responses"] = answers
        if not self._v3:
            made["produces"] = list(_MEDIA)
            made["schemes"] = ["https"]


def _group_word(kind: Kind) -> str:
    if not kind.group:
        return "Core"
    return kind.group.split(".")[0].capitalize()
