"""What mutating and validating admission policies and their bindings have in common.

Whether an expression compiles is asked where CEL is known; here is only what can be said without it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tiphys.api.admissionregistration.rules import (
    FAILURE_POLICIES,
    default_match,
    validate_enum,
    validate_match,
    validate_match_conditions,
)
from tiphys.api.kind import AGE, Column
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, not_supported, required
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1035_label, dns1123_subdomain, path_segment

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)


def default_policy(policy: Obj) -> None:
    spec = policy.setdefault("spec", {})
    if spec.get("failurePolicy") is None:
        spec["failurePolicy"] = "Fail"
    default_match(spec.get("matchConstraints"))


def default_binding(binding: Obj) -> None:
    default_match(get(binding, ("spec", "matchResources")))


def validate_policy_head(spec: Obj) -> Iterator[FieldError]:
    """Everything before the variables."""
    yield from validate_enum(spec, "failurePolicy", "spec", FAILURE_POLICIES, must=True)
    if spec.get("paramKind") is not None:
        yield from _validate_param_kind(spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        yield required("spec.matchConstraints")
    else:
        yield from validate_match(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")


def validate_policy_expressions(spec: Obj) -> Iterator[FieldError]:
    yield from validate_match_conditions(spec.get("matchConditions") or (), "spec.matchConditions")
    for position, variable in enumerate(spec.get("variables") or ()):
        yield from _validate_variable(variable, index("spec.variables", position))


def _validate_param_kind(kind: Obj, at: str) -> Iterator[FieldError]:
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    where = child(at, "apiVersion")
    group, slash, version = api_version.partition("/")
    if not slash:
        group, version = "", api_version
    if not api_version:
        yield required(where)
    elif api_version.count("/") > 1:
        yield invalid(where, api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        problems = dns1123_subdomain(group) if group else []
        if problems:
            yield invalid(where, group, ",".join(problems))
        problems = dns1035_label(version)
        if not version:
            yield invalid(where, api_version, "version must be specified")
        elif problems:
            yield invalid(where, version, ",".join(problems))
    problems = dns1035_label(name.lower())
    if not name:
        yield required(child(at, "kind"))
    elif problems:
        yield invalid(child(at, "kind"), name, "may have mixed case, but should otherwise match: " + ",".join(problems))


def _validate_variable(variable: Obj, at: str) -> Iterator[FieldError]:
    name = variable.get("name", "")
    if not name.strip():
        yield required(child(at, "name"), "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        yield invalid(child(at, "name"), name, "must be a valid CEL identifier")
    if not variable.get("expression", "").strip():
        yield required(child(at, "expression"), "expression is not specified")


def validate_binding(binding: Obj) -> Iterator[FieldError]:
    spec = binding.get("spec") or {}
    policy = spec.get("policyName", "")
    if not policy:
        yield required("spec.policyName")
    else:
        for told in dns1123_subdomain(policy):
            yield invalid("spec.policyName", policy, told)
    if spec.get("paramRef") is not None:
        yield from _validate_param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        yield from validate_match(spec["matchResources"], "spec.matchResources")


def _validate_param_ref(reference: Obj, at: str) -> Iterator[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        for told in path_segment(name):
            yield invalid(child(at, "name"), name, told)
        if selector is not None:
            yield forbidden(child(at, "name"), exclusive)
    if selector is not None:
        yield from validate_label_selector(selector, child(at, "selector"))
        if name:
            yield forbidden(child(at, "selector"), exclusive)
    if not name and selector is None:
        yield required(at, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(child(at, "parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        yield not_supported(child(at, "parameterNotFoundAction"), action, ("Deny", "Allow"))


def param_kind(policy: Obj, _now: float) -> str:
    kind = get(policy, ("spec", "paramKind"))
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def param_ref(binding: Obj, _now: float) -> str:
    reference = get(binding, ("spec", "paramRef")) or {}
    name = reference.get("name")
    if name:
        return f"{reference.get('namespace') or '*'}/{name}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else _spell_selector(selector)


def _spell_selector(selector: Obj) -> str:
    """The structure as upstream's generated code prints it."""
    labels = selector.get("matchLabels") or {}
    told = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    requirements = f"[]LabelSelectorRequirement{{{expressions}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{told}}},MatchExpressions:{requirements},}}"


def policy_columns(name: str, field: str, description: str) -> tuple[Column, ...]:
    def count(policy: Obj, _now: float) -> Any:
        return len(get(policy, ("spec", field), ()))

    kind_told = "ParamKind specifies the kind of resources used to parameterize this policy"
    counted: Callable[[Obj, float], Any] = count
    return (
        Column(name, counted, type="integer", description=description),
        Column("ParamKind", param_kind, description=kind_told),
        AGE,
    )


BINDING_COLUMNS = (
    Column(
        "PolicyName",
        "spec.policyName",
        description="PolicyName indicates the policy definition which the policy binding binded to",
    ),
    Column("ParamRef", param_ref, description="ParamRef indicates the param resource which sets the configuration param"),
    AGE,
)
