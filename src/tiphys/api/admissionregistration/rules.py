"""Which requests a webhook or policy is asked about: what configurations, policies and bindings have in common."""

from collections.abc import Iterable, Iterator, Sequence

from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required, too_many
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import path_segment, qualified_name

GROUP = "admissionregistration.k8s.io"
FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")

_STATIC_SUFFIX = ".static.k8s.io"


def static_suffix_warnings(new: Obj, _old: Obj | None) -> Iterable[str]:
    if new["metadata"].get("name", "").endswith(_STATIC_SUFFIX):
        yield (
            f'metadata.name: names ending with "{_STATIC_SUFFIX}" are reserved for static manifest-based configurations '
            "and cannot be managed via the API"
        )


def default_rules(rules: Iterable[Obj] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_match(match: Obj | None) -> None:
    if match is None:
        return
    for field, value in (("matchPolicy", "Equivalent"), ("namespaceSelector", {}), ("objectSelector", {})):
        if match.get(field) is None:
            match[field] = value
    default_rules(match.get("resourceRules"))
    default_rules(match.get("excludeResourceRules"))


def validate_enum(holder: Obj, field: str, at: str, supported: Sequence[str], *, must: bool = False) -> Iterator[FieldError]:
    value = holder.get(field)
    if value is None:
        if must:
            yield required(child(at, field))
    elif value not in supported:
        yield not_supported(child(at, field), value, supported)


def validate_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    operations = rule.get("operations") or ()
    if not operations:
        yield required(child(at, "operations"))
    if len(operations) > 1 and "*" in operations:
        yield invalid(child(at, "operations"), operations, "if '*' is present, must not specify other operations")
    for position, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield not_supported(index(child(at, "operations"), position), operation, OPERATIONS)
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or ()
        if not values:
            yield required(child(at, field))
        if len(values) > 1 and "*" in values:
            yield invalid(child(at, field), values, f"if '*' is present, must not specify other {what}")
    for position, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield required(index(child(at, "apiVersions"), position))
    yield from _validate_resources(rule.get("resources") or (), child(at, "resources"))
    yield from validate_enum(rule, "scope", at, SCOPES)


def _validate_resources(resources: Sequence[str], at: str) -> Iterator[FieldError]:
    if not resources:
        yield required(at)
    all_of_resource: set[str] = set()
    all_with_subresource: set[str] = set()
    # As upstream has it, the last plain name decides whether `*` has company.
    has_plain = False
    for position, named in enumerate(resources):
        if not named:
            yield required(index(at, position))
            continue
        resource, slash, subresource = named.partition("/")
        if not slash:
            has_plain = named != "*"
            continue
        if resource in all_of_resource:
            yield invalid(index(at, position), named, f"if '{resource}/*' is present, must not specify {named}")
        if subresource in all_with_subresource:
            yield invalid(index(at, position), named, f"if '*/{subresource}' is present, must not specify {named}")
        if subresource == "*":
            all_of_resource.add(resource)
        if resource == "*":
            all_with_subresource.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(at, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and has_plain:
        told = "if '*' is present, must not specify other resources without subresources"
        yield invalid(at, resources, told)


def validate_match(match: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_enum(match, "matchPolicy", at, MATCH_POLICIES, must=True)
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            yield required(child(at, field))
        else:
            yield from validate_label_selector(match[field], child(at, field))
    for field in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(match.get(field) or ()):
            yield from _validate_named_rule(rule, index(child(at, field), position))


def _validate_named_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    names = rule.get("resourceNames") or ()
    for position, name in enumerate(names):
        where = index(child(at, "resourceNames"), position)
        for told in path_segment(name):
            yield invalid(where, name, told)
        if name in names[:position]:
            yield duplicate(where, name)
    yield from validate_rule(rule, at)


def validate_mutating_operations(match: Obj | None, at: str) -> Iterator[FieldError]:
    """A deletion cannot be changed."""
    for rule in (match or {}).get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in MUTATING_OPERATIONS:
                yield not_supported(child(at, "resourceRules", "operations"), operation, MUTATING_OPERATIONS)


def validate_match_conditions(conditions: Sequence[Obj], at: str) -> Iterator[FieldError]:
    """Their expressions are compiled where CEL is known (see `expressions`)."""
    if len(conditions) > 64:
        yield too_many(at, len(conditions), 64)
    names: set[str] = set()
    for position, condition in enumerate(conditions):
        where = index(at, position)
        name = condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield required(child(where, "expression"))
        if not name:
            yield required(child(where, "name"))
            continue
        for told in qualified_name(name):
            yield invalid(child(where, "name"), name, told)
        if name in names:
            yield duplicate(child(where, "name"), name)
        names.add(name)
