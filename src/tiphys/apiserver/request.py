"""Method and path become a RequestInfo: verb, group, version, resource, subresource, namespace, name. Core.

The rules are the ones that authorization and audit depend on, so they follow upstream's request-info resolver exactly.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from tiphys.machinery import errors, selectors

VERB_OF_METHOD = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}

_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_NONE = [""]
_SPECIAL_VERBS = frozenset(("proxy", "watch"))


@dataclass(frozen=True, slots=True)
class RequestInfo:
    verb: str
    path: str
    """Decoded; what a non-resource rule matches."""
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    rest: str = ""
    """What follows the subresource: the path to proxy to."""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def scope(self) -> str:
        """Of what it asks for, as metrics tell it."""
        return "" if not self.is_resource else "resource" if self.name else "namespace" if self.namespace else "cluster"


Query = dict[str, list[str]]


def parse_query(raw: str) -> Query:
    return parse_qs(raw, keep_blank_values=True) if raw else {}


def is_true(query: Query, name: str) -> bool:
    """A boolean option as upstream reads it: present and neither false nor 0."""
    values = query.get(name)
    return values is not None and values[0].lower() not in ("false", "0")


def resolve(method: str, raw_path: str, query: Query) -> RequestInfo:
    """Raises ApiError for a path that cannot be read at all."""
    path = unquote(raw_path) if "%" in raw_path else raw_path
    verb = method.lower()
    # Empty parts count, as upstream: what a rule is matched against must be what the path leads to.
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return RequestInfo(verb, path)
    if parts[0] == "api":
        group, version, parts = "", parts[1], parts[2:]
    elif len(parts) < 4:
        return RequestInfo(verb, path)
    else:
        group, version, parts = parts[1], parts[2], parts[3:]

    verb = VERB_OF_METHOD.get(method, "")
    if parts[0] in _SPECIAL_VERBS:
        if len(parts) < 2:
            raise errors.bad_request(f"unable to determine kind and namespace from url, {path}")
        verb, parts = parts[0], parts[1:]

    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    if not name:
        verb, name = _collection_verb(verb, query)
    selects = bool(query) and verb in ("list", "watch", "deletecollection")
    return RequestInfo(
        verb,
        path,
        True,
        group,
        version,
        namespace,
        resource,
        subresource,
        name,
        _tail(path, parts) if subresource else "",
        query.get("fieldSelector", _NONE)[0] if selects else "",
        query.get("labelSelector", _NONE)[0] if selects else "",
    )


def _collection_verb(verb: str, query: Query) -> tuple[str, str]:
    """list, watch and deletecollection; and the name, where a field selector narrows them to one object."""
    name = ""
    if verb == "get":
        verb = "watch" if is_true(query, "watch") else "list"
    elif verb == "delete":
        verb = "deletecollection"
    if verb in ("list", "watch") and (wanted := query.get("fieldSelector")):
        try:
            name = selectors.parse_fields(wanted[0]).exact("metadata.name") or ""
        except ValueError:
            name = ""  # the verb itself will refuse it
        if "/" in name or "%" in name or name in (".", ".."):
            name = ""
    return verb, name


def _tail(path: str, parts: list[str]) -> str:
    """The part of `path` after resource/name/subresource, with its slashes as they were sent."""
    if len(parts) <= 3 and not path.endswith("/"):
        return ""
    marker = "/" + "/".join(parts[:3])
    at = path.rfind(marker + "/")
    return path[at + len(marker) :] if at >= 0 else ""
