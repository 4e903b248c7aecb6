"""What the kinds that run pods share: selector, template and counters checked, and the columns that show them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tiphys.api import pod_template
from tiphys.api.kind import Column
from tiphys.api.pod_template.internal import same, told
from tiphys.machinery import selectors
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, not_supported, required
from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj, get, path
from tiphys.machinery.validators import IMMUTABLE, at_least_zero, dns1123_label

MORE_THAN_REPLICAS = "cannot be greater than status.replicas"
MISMATCH = "`selector` does not match template `labels`"
NAME_IN_HOSTNAMES = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def is_empty(selector: Obj) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def compiled(selector: Obj | None) -> Selector | None:
    """None where upstream could not compile it; such a selector is not compared with labels."""
    try:
        return selectors.from_tree(selector)
    except ValueError:
        return None


def validate_selector(spec: Obj, at: str, noun: str) -> Iterator[FieldError]:
    """`noun` is what upstream calls the kind here: a ReplicaSet, too, hears of a deployment."""
    selector, where = spec.get("selector"), child(at, "selector")
    if selector is None:
        yield required(where)
        return
    yield from selectors.validate_label_selector(selector, where)
    if is_empty(selector):
        yield invalid(where, told(selector, "Selector"), f"empty selector is invalid for {noun}")


def validate_match(selector: Selector, template: Obj, at: str) -> Iterator[FieldError]:
    """The template must carry the labels that the selector asks for."""
    labels = get(template, ("metadata", "labels"))
    if not selector.matches(labels):
        yield invalid(child(at, "metadata", "labels"), labels, MISMATCH)


def validate_runs_forever(template: Obj, at: str, kind: str) -> Iterator[FieldError]:
    """Pods of these kinds are always restarted and have no deadline."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        yield not_supported(child(at, "spec", "restartPolicy"), policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        yield forbidden(child(at, "spec", "activeDeadlineSeconds"), f"activeDeadlineSeconds in {kind} is not Supported")


def validate_template_of_replicas(spec: Obj, at: str, before: Obj | None) -> Iterator[FieldError]:
    """For Deployments and ReplicaSets: the template, if the selector can be compared with it."""
    selector, template, where = spec.get("selector"), spec.get("template") or {}, child(at, "template")
    picks = compiled(selector)
    if picks is None:
        yield invalid(child(at, "selector"), told(selector, "Selector"), "invalid label selector")
        return
    if not picks.empty:
        yield from validate_match(picks, template, where)
    yield from pod_template.validate(template, at=where, old=(before or {}).get("template"))
    yield from validate_runs_forever(template, where, "ReplicaSet")


def validate_counters(status: Obj, names: Iterable[str]) -> Iterator[FieldError]:
    for name in names:
        yield from at_least_zero(status.get(name), child("status", name))


def validate_not_above_replicas(status: Obj, names: Iterable[str], ready: str) -> Iterator[FieldError]:
    """`ready` is how this kind's message calls readyReplicas."""
    replicas = status.get("replicas", 0)
    for name in names:
        if status.get(name, 0) > replicas:
            yield invalid(child("status", name), status.get(name, 0), MORE_THAN_REPLICAS)
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        yield invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def validate_collision_count(new: Obj, old: Obj) -> Iterator[FieldError]:
    """The count is part of generated names, so it may not go back."""
    before, now = get(old, ("status", "collisionCount")), get(new, ("status", "collisionCount"))
    if before is not None and (now is None or now < before):
        yield invalid("status.collisionCount", now or 0, "cannot be decremented")


def validate_selector_kept(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Objects that were selected once stay selected."""
    selector, before = new["spec"].get("selector"), old["spec"].get("selector")
    if selector != before and not same(selector, before, "*Selector"):
        yield invalid("spec.selector", told(selector, "*Selector"), IMMUTABLE)


def name_warnings(new: Obj) -> Iterator[str]:
    problems = dns1123_label(new["metadata"].get("name", ""))
    if problems:
        yield NAME_IN_HOSTNAMES + "[" + " ".join(problems) + "]"


def template_warnings(template: Obj, at: str) -> Iterator[str]:
    yield from pod_template.warnings(template.get("spec") or {}, template.get("metadata") or {}, at)


def number(at: str) -> Callable[[Obj, float], int]:
    """A counter that upstream prints as 0 when it is absent."""
    where = path(at)

    def read(obj: Obj, _now: float) -> int:
        value: int = get(obj, where, 0)
        return value

    return read


def selector_column(at: str = "spec.selector") -> Column:
    where = path(at)

    def show(obj: Obj, _now: float) -> Any:
        picks = compiled(get(obj, where))
        return "<error>" if picks is None else str(picks) or "<none>"

    return Column("Selector", show, wide=True)
