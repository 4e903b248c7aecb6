"""PodDisruptionBudget: how many of these pods may be taken away on purpose at one time."""

from collections.abc import Iterator

from tiphys.api.apps import int_or_percent
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.machinery import selectors
from tiphys.machinery.fields import FieldError, invalid, not_supported
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero, conditions, path_segment

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
ALWAYS_TOLD = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def default(budget: Obj) -> None:
    budget.setdefault("spec", {})
    status = budget.setdefault("status", {})
    for name in ALWAYS_TOLD:
        status.setdefault(name, 0)


def prepare_create(budget: Obj) -> None:
    budget["status"] = dict.fromkeys(ALWAYS_TOLD, 0)


def validate_create(budget: Obj) -> Iterator[FieldError]:
    yield from _validate(budget["spec"], lenient=False)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """A selector that was wrong already may stay wrong."""
    before = get(old, ("spec", "selector"))
    yield from _validate(new["spec"], lenient=any(True for _ in selectors.validate_label_selector(before, "")))


def _validate(spec: Obj, *, lenient: bool) -> Iterator[FieldError]:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield invalid("spec", told(spec, "PodDisruptionBudgetSpec"), "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if value is not None:
            yield from int_or_percent.validate(value, f"spec.{name}")
            yield from int_or_percent.at_most_all(value, f"spec.{name}")
    yield from selectors.validate_label_selector(spec.get("selector"), "spec.selector", allow_invalid_values=lenient)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in EVICTION_POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    yield from conditions(status.get("conditions") or [], "status.conditions")
    for name in ALWAYS_TOLD:
        yield from at_least_zero(status.get(name), f"status.{name}")


def _amount(budget: Obj, name: str) -> str:
    return str(get(budget, ("spec", name), "N/A"))


PODDISRUPTIONBUDGETS = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    singular="poddisruptionbudget",
    short=("pdb",),
    schema="io.k8s.api.policy.v1.PodDisruptionBudget",
    default=default,
    prepare_create=prepare_create,
    # Upstream's own checks are those of the spec.
    name=path_segment,
    metadata_last=True,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    strategy=Strategy(status=True, generation_of=SPEC, unconditional_update=False),
    columns=(
        Column("Min Available", lambda each, _now: _amount(each, "minAvailable")),
        Column("Max Unavailable", lambda each, _now: _amount(each, "maxUnavailable")),
        Column("Allowed Disruptions", lambda each, _now: get(each, ("status", "disruptionsAllowed"), 0), type="integer"),
        AGE,
    ),
)
