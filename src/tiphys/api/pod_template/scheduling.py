"""Where a pod may and should run: affinity, tolerations, topology spread, gates."""

from collections.abc import Iterator

from tiphys.api.pod_template.options import AFFINITIES, PREFERRED, REQUIRED, Options
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_NOT_POSITIVE = "must be greater than zero"


def validate_affinity(affinity: Obj, at: str, options: Options) -> Iterator[FieldError]:
    of_nodes = affinity.get("nodeAffinity")
    if of_nodes is not None:
        yield from _validate_node_affinity(of_nodes, f"{at}.nodeAffinity", options)
    for side in AFFINITIES:
        terms = affinity.get(side)
        if terms is not None:
            yield from _validate_pod_affinity(terms, f"{at}.{side}", options)


def _validate_node_affinity(affinity: Obj, at: str, options: Options) -> Iterator[FieldError]:
    needed = affinity.get(REQUIRED)
    if needed is not None:
        yield from validate_node_selector(needed, f"{at}.{REQUIRED}", options.invalid_node_affinity_values)
    for position, term in enumerate(affinity.get(PREFERRED) or ()):
        here = f"{at}.{PREFERRED}[{position}]"
        yield from _validate_weight(term, here)
        yield from _validate_node_term(term.get("preference") or {}, f"{here}.preference", any_value=True)


def _validate_weight(term: Obj, at: str) -> Iterator[FieldError]:
    weight = term.get("weight") or 0
    if not 0 < weight <= 100:
        yield invalid(f"{at}.weight", weight, "must be in the range 1-100")


def validate_node_selector(selector: Obj, at: str, any_value: bool = False) -> Iterator[FieldError]:
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        yield required(f"{at}.nodeSelectorTerms", "must have at least one node selector term")
    for position, term in enumerate(terms or ()):
        yield from _validate_node_term(term, f"{at}.nodeSelectorTerms[{position}]", any_value)


def _validate_node_term(term: Obj, at: str, any_value: bool) -> Iterator[FieldError]:
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        yield from _validate_node_expression(expression, f"{at}.matchExpressions[{position}]", any_value)
    for position, expression in enumerate(term.get("matchFields") or ()):
        yield from _validate_node_field(expression, f"{at}.matchFields[{position}]")


def _validate_node_expression(expression: Obj, at: str, any_value: bool) -> Iterator[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{at}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{at}.operator", operator, "not a valid selector operator")
    yield from validators.label_name(expression.get("key") or "", f"{at}.key")
    if not any_value:
        for position, value in enumerate(values):
            for problem in validators.label_value(value):
                yield invalid(f"{at}.values[{position}]", value, problem)


def _validate_node_field(expression: Obj, at: str) -> Iterator[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    key = expression.get("key") or ""
    if operator not in ("In", "NotIn"):
        yield invalid(f"{at}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        told = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{at}.values", told)
    if key != "metadata.name":
        yield invalid(f"{at}.key", key, "not a valid field selector key")
        return
    for position, value in enumerate(values):
        for problem in validators.dns1123_subdomain(value):
            yield invalid(f"{at}.values[{position}]", value, problem)


def _validate_pod_affinity(affinity: Obj, at: str, options: Options) -> Iterator[FieldError]:
    for position, term in enumerate(affinity.get(REQUIRED) or ()):
        yield from _validate_pod_term(term, f"{at}.{REQUIRED}[{position}]", options)
    for position, weighted in enumerate(affinity.get(PREFERRED) or ()):
        here = f"{at}.{PREFERRED}[{position}]"
        yield from _validate_weight(weighted, here)
        yield from _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm", options)


def _validate_pod_term(term: Obj, at: str, options: Options) -> Iterator[FieldError]:
    tolerant = options.invalid_selector_values
    selector = term.get("labelSelector")
    yield from validate_label_selector(selector, f"{at}.labelSelector", allow_invalid_values=tolerant)
    of_namespaces = term.get("namespaceSelector")
    if of_namespaces is not None:
        yield from validate_label_selector(of_namespaces, f"{at}.namespaceSelector", allow_invalid_values=tolerant)
    for name in term.get("namespaces") or ():
        for problem in validators.dns1123_label(name):
            yield invalid(f"{at}.namespace", name, problem)
    matched, mismatched = term.get("matchLabelKeys"), term.get("mismatchLabelKeys")
    if matched or mismatched:
        yield from label_key_problems(at, matched, mismatched, selector)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{at}.topologyKey", "can not be empty")
    yield from validators.label_name(key, f"{at}.topologyKey")


def label_key_problems(
    at: str, matched: list[str] | None, mismatched: list[str] | None, selector: Obj | None
) -> Iterator[FieldError]:
    """Keys whose values the pod's own labels give. What was folded into the selector stands there once, not twice."""
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys:
            yield from _label_keys(f"{at}.{name}", keys, selector)
    if selector is not None and matched:
        places = {key: position for position, key in enumerate(matched)}
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in places and key in seen:
                yield invalid(f"{at}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
            seen.add(key)
    for position, key in enumerate(matched or ()):
        if key in (mismatched or ()):
            yield invalid(f"{at}.matchLabelKeys[{position}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _label_keys(at: str, keys: list[str], selector: Obj | None) -> Iterator[FieldError]:
    if selector is None:
        yield forbidden(at, _NO_SELECTOR)
        return
    for position, key in enumerate(keys):
        yield from validators.label_name(key, f"{at}[{position}]")


def _unmerged_keys(at: str, keys: list[str], selector: Obj | None) -> Iterator[FieldError]:
    """As it was before the keys were folded into the selector."""
    if selector is None:
        yield forbidden(at, _NO_SELECTOR)
    taken = set((selector or {}).get("matchLabels") or ())
    taken.update(each.get("key") or "" for each in (selector or {}).get("matchExpressions") or ())
    for position, key in enumerate(keys):
        yield from validators.label_name(key, f"{at}[{position}]")
        if key in taken:
            yield invalid(f"{at}[{position}]", key, "exists in both matchLabelKeys and labelSelector")


def validate_tolerations(tolerations: list[Obj], at: str, options: Options) -> Iterator[FieldError]:
    for position, toleration in enumerate(tolerations):
        yield from _validate_toleration(toleration, f"{at}[{position}]", options)


def _validate_toleration(toleration: Obj, at: str, options: Options) -> Iterator[FieldError]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        yield from validators.label_name(key, f"{at}.key")
    elif operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{at}.operator", operator, told)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("Equal", ""):
        if problems := validators.label_value(value):
            yield invalid(f"{at}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        yield from _validate_comparison(operator, value, at, options)
    else:
        yield not_supported(f"{at}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{at}.effect", effect, _EFFECTS)


def _validate_comparison(operator: str, value: str, at: str, options: Options) -> Iterator[FieldError]:
    if not options.compared_tolerations:
        yield not_supported(f"{at}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
        return
    problems = validators.decimal_integer(value)
    for problem in problems:
        yield invalid(f"{at}.value", value, problem)
    wrong = "value out of range"
    if not value.lstrip("+-").isdigit() or len(value) - len(value.lstrip("+-")) > 1:
        wrong = "invalid syntax"
    elif -(2**63) <= int(value) < 2**63:
        return
    yield invalid(f"{at}.value", value, f'strconv.ParseInt: parsing "{value}": {wrong}')


def validate_spread(constraints: list[Obj], at: str, options: Options) -> Iterator[FieldError]:
    for position, constraint in enumerate(constraints):
        here = f"{at}[{position}]"
        skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            yield invalid(f"{here}.maxSkew", skew, _NOT_POSITIVE)
        if not key:
            yield required(f"{here}.topologyKey", "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield not_supported(f"{here}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        later = constraints[position + 1 :]
        if any((each.get("topologyKey"), each.get("whenUnsatisfiable")) == (key, action) for each in later):
            yield duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        domains = constraint.get("minDomains")
        if domains is not None:
            if domains <= 0:
                yield invalid(f"{here}.minDomains", domains, _NOT_POSITIVE)
            if action != "DoNotSchedule":
                told = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                yield invalid(f"{here}.minDomains", domains, told)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(name)
            if policy is not None and policy not in ("Honor", "Ignore"):
                yield not_supported(f"{here}.{name}", policy, ("Honor", "Ignore"))
        yield from _validate_spread_selector(constraint, here, options)


def _validate_spread_selector(constraint: Obj, at: str, options: Options) -> Iterator[FieldError]:
    selector, keys = constraint.get("labelSelector"), constraint.get("matchLabelKeys")
    if keys and options.merged_spread_keys:
        yield from label_key_problems(at, keys, None, selector)
    elif keys:
        yield from _unmerged_keys(f"{at}.matchLabelKeys", keys, selector)
    if not options.invalid_spread_selectors:
        yield from validate_label_selector(selector, f"{at}.labelSelector")


def validate_gates(gates: list[Obj], at: str) -> Iterator[FieldError]:
    seen = set()
    for position, gate in enumerate(gates):
        name = gate.get("name") or ""
        yield from validators.label_name(name, f"{at}[{position}]")
        if name in seen:
            yield duplicate(f"{at}[{position}]", name)
        seen.add(name)
