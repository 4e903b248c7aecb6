"""What the access reviews have in common: exactly one thing is asked about, and metadata says nothing."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import label_value, qualified_name

GROUP = "authorization.k8s.io"


def validate_target(spec: Obj) -> Iterator[FieldError]:
    resource, url = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and url is not None:
        told = "cannot be specified in combination with resourceAttributes"
        yield invalid("spec.nonResourceAttributes", shown_url(url), told)
    if resource is None and url is None:
        told = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid("spec.resourceAttributes", None, told)


def shown_url(attributes: Obj) -> Obj:
    """As upstream shows it: with the names it has in Go."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def validate_subject(spec: Obj) -> Iterator[FieldError]:
    if not spec.get("user") and not spec.get("groups"):
        yield invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")


def validate_selectors(spec: Obj) -> Iterator[FieldError]:
    attributes = spec.get("resourceAttributes") or {}
    for name in ("fieldSelector", "labelSelector"):
        selector = attributes.get(name)
        if selector is not None:
            yield from _validate_selector(selector, f"spec.resourceAttributes.{name}", labels=name == "labelSelector")


def _validate_selector(selector: Obj, at: str, *, labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
    if raw and requirements:
        yield invalid(child(at, "rawSelector"), raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        yield required(child(at, "requirements"), f"when {at} is specified, requirements or rawSelector is required")
    for position, requirement in enumerate(requirements):
        yield from _validate_requirement(requirement, index(child(at, "requirements"), position), labels=labels)


def _validate_requirement(requirement: Obj, at: str, *, labels: bool) -> Iterator[FieldError]:
    """An operator that is not known may come from a newer client: it is let through."""
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    if not labels and not key:
        yield required(child(at, "key"), "must be specified")
    if operator in ("In", "NotIn") and not values:
        yield required(child(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(child(at, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    if labels:
        for told in qualified_name(key):
            yield invalid(child(at, "key"), key, told)
        for position, value in enumerate(values):
            for told in label_value(value):
                yield invalid(index(child(at, "values"), position), value, told)


def validate_metadata(review: Obj, *, namespaced: bool = False) -> Iterator[FieldError]:
    allowed = {"managedFields", "namespace"} if namespaced else {"managedFields"}
    metadata = review.get("metadata") or {}
    if any(value for key, value in metadata.items() if key not in allowed):
        told = "must be empty except for namespace" if namespaced else "must be empty"
        yield invalid("metadata", metadata, told)
