"""FlowSchema: which requests belong to which priority level, and what tells one flow from another."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.flowcontrol.conditions import prepare_create, validate_conditions
from tiphys.api.flowcontrol.mandatory import EXEMPT, FLOWS, GROUP
from tiphys.api.kind import AGE, SPEC, Column, Kind, Problems, Strategy
from tiphys.api.pod_template import internal
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_label, dns1123_subdomain

MAX_PRECEDENCE = 10000
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")

_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


def default(schema: Obj) -> None:
    spec = schema.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def validate(schema: Obj) -> Iterator[FieldError]:
    name, spec = schema["metadata"].get("name", ""), schema.get("spec") or {}
    yield from _validate_head(name, spec)
    for position, rule in enumerate(spec.get("rules") or ()):
        yield from _validate_rule(rule, index("spec.rules", position))
    if name in FLOWS and spec != FLOWS[name]:
        yield invalid("spec", internal.told(spec, "FlowSchemaSpec"), f"spec of '{name}' must equal the fixed value")
    yield from validate_conditions(schema)


def validate_status(new: Obj, _old: Obj) -> Problems:
    return validate_conditions(new)


def _validate_head(name: str, spec: Obj) -> Iterator[FieldError]:
    precedence = spec.get("matchingPrecedence", 0)
    at = "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(at, precedence, "must be a positive value")
    if precedence > MAX_PRECEDENCE:
        yield invalid(at, precedence, f"must not be greater than {MAX_PRECEDENCE}")
    if precedence == 1 and name != EXEMPT:
        yield invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type", "") not in ("ByNamespace", "ByUser"):
        # Upstream shows the structure around the value, with the names it has in Go.
        shown = {"Type": method.get("type", "")}
        yield not_supported("spec.distinguisherMethod.type", shown, ("ByNamespace", "ByUser"))
    level = get(spec, ("priorityLevelConfiguration", "name"), "")
    at = "spec.priorityLevelConfiguration.name"
    if not level:
        yield required(at, "must reference a priority level")
    else:
        for told in dns1123_subdomain(level):
            yield invalid(at, level, told)


def _validate_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield required(child(at, "subjects"), "subjects must contain at least one value")
    for position, subject in enumerate(subjects):
        yield from _validate_subject(subject, index(child(at, "subjects"), position))
    resources, urls = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not urls:
        yield required(at, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for position, each in enumerate(resources):
        yield from _validate_resource_rule(each, index(child(at, "resourceRules"), position))
    for position, each in enumerate(urls):
        yield from _validate_url_rule(each, index(child(at, "nonResourceRules"), position))


def _validate_subject(subject: Obj, at: str) -> Iterator[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        yield not_supported(child(at, "kind"), kind, ("Group", "ServiceAccount", "User"))
        return
    field = _SUBJECTS[kind]
    named = subject.get(field)
    if named is None:
        yield required(child(at, field), f"{field} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        yield from _validate_service_account(named, child(at, field))
    elif not named.get("name"):
        yield required(child(at, field, "name"))
    # Upstream's order: the account's errors come before those of what must be absent.
    for other_kind, other in (("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")):
        if other != field and subject.get(other) is not None:
            yield forbidden(child(at, other), f"{other} is forbidden when subject kind is not '{other_kind}'")


def _validate_service_account(named: Obj, at: str) -> Iterator[FieldError]:
    name, namespace = named.get("name", ""), named.get("namespace", "")
    if not name:
        yield required(child(at, "name"))
    elif name != "*":
        for told in dns1123_subdomain(name):
            yield invalid(child(at, "name"), name, told)
    if not namespace:
        yield required(child(at, "namespace"), "must specify namespace for service account")
    else:
        for told in dns1123_label(namespace):
            yield invalid(child(at, "namespace"), namespace, told)


def _validate_list(rule: Obj, at: str, field: str, missing: str, what: str) -> Iterator[FieldError]:
    values = rule.get(field) or ()
    if not values:
        yield required(child(at, field), missing)
    elif "*" in values and len(values) > 1:
        yield invalid(child(at, field), values, f"if '*' is present, must not specify other {what}")


def _validate_verbs(rule: Obj, at: str) -> Iterator[FieldError]:
    yield from _validate_list(rule, at, "verbs", "verbs must contain at least one value", "verbs")
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and not set(verbs) <= set(VERBS):
        yield not_supported(child(at, "verbs"), verbs, VERBS)


def _validate_resource_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    yield from _validate_verbs(rule, at)
    yield from _validate_list(rule, at, "apiGroups", "resource rules must supply at least one api group", "api groups")
    yield from _validate_list(rule, at, "resources", "resource rules must supply at least one resource", "resources")
    namespaces = rule.get("namespaces") or ()
    at = child(at, "namespaces")
    if not namespaces and not rule.get("clusterScope"):
        yield required(at, "resource rules that are not cluster scoped must supply at least one namespace")
    elif "*" in namespaces:
        if len(namespaces) > 1:
            yield invalid(at, namespaces, "if '*' is present, must not specify other namespaces")
    else:
        for position, namespace in enumerate(namespaces):
            for told in dns1123_label(namespace):
                intro = "each member of this list must be '*' or a DNS-1123 label; "
                yield invalid(index(at, position), namespace, intro + told)


def _validate_url_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    yield from _validate_verbs(rule, at)
    missing = "nonResourceURLs must contain at least one value"
    yield from _validate_list(rule, at, "nonResourceURLs", missing, "non-resource URLs")
    urls = rule.get("nonResourceURLs") or ()
    if "*" in urls:
        return
    for position, url in enumerate(urls):
        told = url_problem(url)
        if told:
            yield invalid(index(child(at, "nonResourceURLs"), position), url, told)


def url_problem(url: str) -> str:
    """What is wrong with a path that may end in `/*`; empty if nothing is."""
    stars = url.count("*")
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if stars > 1 or (stars == 1 and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def distinguisher(schema: Obj, _now: float) -> str:
    method: str = get(schema, ("spec", "distinguisherMethod", "type"), "<none>")
    return method


def dangling(schema: Obj, _now: float) -> Any:
    for condition in get(schema, ("status", "conditions"), ()):
        if condition.get("type") == "Dangling":
            return condition.get("status", "")
    return "?"


FLOW_SCHEMAS = Kind(
    group=GROUP,
    version="v1",
    kind="FlowSchema",
    plural="flowschemas",
    singular="flowschema",
    schema="io.k8s.api.flowcontrol.v1.FlowSchema",
    namespaced=False,
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_status=validate_status,
    strategy=Strategy(status=True, generation_of=SPEC, status_keeps_metadata=True),
    columns=(
        Column("PriorityLevel", "spec.priorityLevelConfiguration.name", description="The level that serves its requests."),
        Column("MatchingPrecedence", "spec.matchingPrecedence", description="Of the schemas that match, the lowest wins."),
        Column("DistinguisherMethod", distinguisher, description="What tells one flow from another."),
        AGE,
        Column("MissingPL", dangling, description="references a broken or non-existent PriorityLevelConfiguration"),
    ),
)
