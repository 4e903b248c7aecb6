"""What a Job asks for: defaults and checks, shared by Jobs and the template in a CronJob."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template
from tiphys.api.batch import indexes
from tiphys.api.pod_template.internal import told
from tiphys.machinery.fields import (
    OMIT,
    FieldError,
    child,
    duplicate,
    index,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
)
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero, domain_prefixed_path, qualified_name, size

MOST_PARALLEL = 100_000
MOST_FAILED_INDEXES = 100_000
MANY_COMPLETIONS = 100_000
MOST_PARALLEL_WITH_MANY = 10_000
MOST_FAILED_WITH_MANY = 10_000
MOST_RULES = 20
MOST_EXIT_CODES = 255
MOST_PATTERNS = 20
LONGEST_MANAGED_BY = 63
LONGEST_INDEXES = 64 * 1024

ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
CONDITION_STATUSES = ("False", "True", "Unknown")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
MODES = ("NonIndexed", "Indexed")


def default_template(spec: Obj) -> None:
    """The parts of a spec that are filled in wherever it stands, in a CronJob too."""
    pod_template.default(spec.setdefault("template", {}))
    if spec.get("podFailurePolicy") is not None:
        spec["podFailurePolicy"].setdefault("rules", None)
    for rule in get(spec, ("podFailurePolicy", "rules")) or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def is_indexed(spec: Obj) -> bool:
    return spec.get("completionMode") == "Indexed"


def validate(spec: Obj, at: str, before: Obj | None) -> Iterator[FieldError]:
    """All but the selector. What was wrong with the template of `before` may stay wrong."""
    for name in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        yield from at_least_zero(spec.get(name), child(at, name))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(child(at, "backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    manager = spec.get("managedBy")
    if manager is not None:
        yield from domain_prefixed_path(manager, child(at, "managedBy"))
        if size(manager) > LONGEST_MANAGED_BY:
            yield too_long(child(at, "managedBy"), LONGEST_MANAGED_BY)
    yield from _validate_mode(spec, at)
    if spec.get("podFailurePolicy") is not None:
        yield from _validate_failure_policy(spec, child(at, "podFailurePolicy"))
    yield from _validate_success_policy(spec, child(at, "successPolicy"))
    yield from _validate_replacement(spec, child(at, "podReplacementPolicy"))
    yield from pod_template.validate(spec["template"], at=child(at, "template"), old=(before or {}).get("template"))
    yield from _validate_restart_policy(spec, child(at, "template", "spec", "restartPolicy"))


def _validate_mode(spec: Obj, at: str) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode is not None and mode not in MODES:
        yield not_supported(child(at, "completionMode"), mode, MODES)
    if mode == "Indexed":
        yield from _validate_indexed(spec, at)
    if mode is None or mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(child(at, name), spec[name], "requires indexed completion mode")


def _validate_indexed(spec: Obj, at: str) -> Iterator[FieldError]:
    completions, parallelism, failed = spec.get("completions"), spec.get("parallelism"), spec.get("maxFailedIndexes")
    at_parallelism, at_failed = child(at, "parallelism"), child(at, "maxFailedIndexes")
    if completions is None:
        yield required(child(at, "completions"), "when completion mode is Indexed")
    if parallelism is not None and parallelism > MOST_PARALLEL:
        told = f"must be less than or equal to {MOST_PARALLEL} when completion mode is Indexed"
        yield invalid(at_parallelism, parallelism, told)
    if completions is not None and failed is not None and failed > completions:
        yield invalid(at_failed, failed, "must be less than or equal to completions")
    if failed is not None and failed > MOST_FAILED_INDEXES:
        yield invalid(at_failed, failed, f"must be less than or equal to {MOST_FAILED_INDEXES}")
    if completions is None or completions <= MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if failed is None:
        yield required(at_failed, f"must be specified when completions is above {MANY_COMPLETIONS}")
    many = f"when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
    if parallelism is not None and parallelism > MOST_PARALLEL_WITH_MANY:
        yield invalid(at_parallelism, parallelism, f"must be less than or equal to {MOST_PARALLEL_WITH_MANY} {many}")
    if failed is not None and failed > MOST_FAILED_WITH_MANY:
        yield invalid(at_failed, failed, f"must be less than or equal to {MOST_FAILED_WITH_MANY} {many}")


def _validate_failure_policy(spec: Obj, at: str) -> Iterator[FieldError]:
    rules, where = spec["podFailurePolicy"].get("rules") or (), child(at, "rules")
    if len(rules) > MOST_RULES:
        yield too_many(where, len(rules), MOST_RULES)
    pod = spec["template"].get("spec") or {}
    containers = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    names = {each.get("name", "") for each in containers}
    for position, rule in enumerate(rules):
        yield from _validate_rule(spec, rule, index(where, position), names)


def _validate_rule(spec: Obj, rule: Obj, at: str, containers: set[str]) -> Iterator[FieldError]:
    action, where = rule.get("action", ""), child(at, "action")
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(where, action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from _validate_choice(action, ACTIONS, where)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if codes is not None:
        yield from _validate_exit_codes(codes, child(at, "onExitCodes"), containers)
    if conditions:
        yield from _validate_pod_conditions(conditions, child(at, "onPodConditions"))
    if codes is not None and conditions:
        yield invalid(at, OMIT, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield invalid(at, OMIT, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_choice(value: str, supported: Iterable[str], at: str) -> Iterator[FieldError]:
    if not value:
        yield required(at, f"valid values: [{' '.join(quote(each) for each in supported)}]")
    elif value not in supported:
        yield not_supported(at, value, supported)


def _validate_pod_conditions(patterns: list[Obj], at: str) -> Iterator[FieldError]:
    if len(patterns) > MOST_PATTERNS:
        yield too_many(at, len(patterns), MOST_PATTERNS)
    for position, pattern in enumerate(patterns):
        where, kind = index(at, position), pattern.get("type", "")
        for problem in qualified_name(kind):
            yield invalid(child(where, "type"), kind, problem)
        yield from _validate_choice(pattern.get("status", ""), CONDITION_STATUSES, child(where, "status"))


def _validate_exit_codes(codes: Obj, at: str, containers: set[str]) -> Iterator[FieldError]:
    operator, values, where = codes.get("operator", ""), codes.get("values") or [], child(at, "values")
    yield from _validate_choice(operator, OPERATORS, child(at, "operator"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        told = "must be one of the container or initContainer names in the pod template"
        yield invalid(child(at, "containerName"), name, told)
    if not values:
        yield invalid(where, codes.get("values"), "at least one value is required")
    elif len(values) > MOST_EXIT_CODES:
        yield too_many(where, len(values), MOST_EXIT_CODES)
    seen: set[int] = set()
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(index(where, position), value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(index(where, position), value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(where, values, "must be ordered")


def _validate_success_policy(spec: Obj, at: str) -> Iterator[FieldError]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if not is_indexed(spec):
        yield invalid(at, told(policy, "SuccessPolicy"), "requires indexed completion mode")
        return
    rules, where = policy.get("rules") or (), child(at, "rules")
    if not rules:
        yield required(where, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > MOST_RULES:
        yield too_many(where, len(rules), MOST_RULES)
    for position, rule in enumerate(rules):
        yield from _validate_success_rule(rule, spec.get("completions", 0), index(where, position))


def _validate_success_rule(rule: Obj, completions: int, at: str) -> Iterator[FieldError]:
    wanted, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
    if wanted is None and listed is None:
        yield required(at, "at least one of succeededCount or succeededIndexes must be specified")
    named = 0
    if listed is not None:
        where = child(at, "succeededIndexes")
        if len(listed) > LONGEST_INDEXES:
            yield too_long(where, LONGEST_INDEXES)
        try:
            named = indexes.count(listed, completions)
        except ValueError as problem:
            yield invalid(where, listed, f"error parsing succeededIndexes: {problem}")
    if wanted is None:
        return
    where = child(at, "succeededCount")
    yield from at_least_zero(wanted, where)
    if wanted > completions:
        yield invalid(where, wanted, f"must be less than or equal to {completions} (the number of specified completions)")
    if listed is not None and wanted > named:
        told = f"must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(where, wanted, told)


def _validate_replacement(spec: Obj, at: str) -> Iterator[FieldError]:
    policy = spec.get("podReplacementPolicy")
    supported = REPLACEMENTS if spec.get("podFailurePolicy") is None else ("Failed",)
    if policy is not None and policy not in supported:
        yield not_supported(at, policy, supported)


def _validate_restart_policy(spec: Obj, at: str) -> Iterator[FieldError]:
    policy = get(spec, ("template", "spec", "restartPolicy"), "")
    if policy in ("", "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(at, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


MANY_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not "
    "be able to track completedIndexes when a big number of indexes fail"
)


def warnings(spec: Obj, at: str) -> Iterator[str]:
    if is_indexed(spec) and spec.get("completions", 0) > 100_000 and spec.get("parallelism", 0) > 10_000:
        yield f"{at}: {MANY_INDEXES}"
    template = spec["template"]
    yield from pod_template.warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{at}.template")
