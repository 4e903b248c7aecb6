"""What a container, or a pod as a whole, asks for and may use."""

from collections.abc import Callable, Iterator

from tiphys.api.pod_template import amounts, totals
from tiphys.api.pod_template.options import Options
from tiphys.api.resources import (
    is_huge_pages,
    is_whole_number,
    may_be_overcommitted,
    validate_container_name,
    validate_name,
)
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import FieldError, Problem, duplicate, forbidden, invalid, not_supported, required
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

_PLAIN = ("cpu", "memory", "ephemeral-storage")
CheckName = Callable[[str, str], Iterator[FieldError]]


def validate_container_requirements(resources: Obj, claims: frozenset[str], at: str, options: Options) -> Iterator[FieldError]:
    return _validate(resources, validate_container_name, claims, at, options)


def _validate_pod_level_name(name: str, at: str) -> Iterator[FieldError]:
    problems = list(validate_name(name, at))
    yield from problems
    if not problems and not amounts.is_pod_level(name):
        yield not_supported(at, name, ("cpu", "hugepages-", "memory"))


def _validate(resources: Obj, check_name: CheckName, claims: frozenset[str], at: str, options: Options) -> Iterator[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    pages = False
    for name, text in limits.items():
        amount = quantity.parse(text)
        yield from _validate_one(name, amount, check_name, f"{at}.limits[{name}]")
        if is_huge_pages(name):
            pages = True
            yield from _validate_pages(name, amount, f"{at}.limits[{name}]", options)
    for name, text in requests.items():
        amount = quantity.parse(text)
        here = f"{at}.requests[{name}]"
        yield from _validate_one(name, amount, check_name, here)
        yield from _validate_against_limit(name, amount, limits.get(name), at)
        if is_huge_pages(name):
            pages = True
            yield from _validate_pages(name, amount, here, options)
    if pages and not any(name in each for each in (limits, requests) for name in ("cpu", "memory")):
        yield forbidden(at, "HugePages require cpu or memory")
    if resources.get("claims"):
        yield from _validate_claims(resources["claims"], claims, f"{at}.claims")


def _validate_one(name: str, amount: Quantity, check_name: CheckName, at: str) -> Iterator[FieldError]:
    if name in _PLAIN and amount.sign() >= 0 and check_name is validate_container_name:
        return
    yield from check_name(name, at)
    if amount.sign() < 0:
        yield invalid(at, str(amount), validators.AT_LEAST_ZERO)
    if is_whole_number(name) and amount.milli() % 1000:
        yield invalid(at, str(amount), "must be an integer")


def _validate_pages(name: str, amount: Quantity, at: str, options: Options) -> Iterator[FieldError]:
    if not options.indivisible_huge_pages and not amounts.divides_into_pages(name, amount):
        yield invalid(at, str(amount), f"{amount} is not positive integer multiple of {name}")


def _validate_against_limit(name: str, amount: Quantity, limit_text: str | None, at: str) -> Iterator[FieldError]:
    if limit_text is None:
        if not may_be_overcommitted(name):
            yield required(f"{at}.limits", "Limit must be set for non overcommitable resources")
        return
    limit = quantity.parse(limit_text)
    if amount != limit and not may_be_overcommitted(name):
        yield invalid(f"{at}.requests", str(amount), f"must be equal to {name} limit of {limit}")
    elif amount > limit:
        yield invalid(f"{at}.requests", str(amount), f"must be less than or equal to {name} limit of {limit}")


def _validate_claims(listed: list[Obj], known: frozenset[str], at: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, claim in enumerate(listed):
        name, request = claim.get("name") or "", claim.get("request") or ""
        here = f"{at}[{position}]"
        if not name:
            yield required(here)
            continue
        if name in seen:
            yield duplicate(here, name)
        else:
            key = name
            if request:
                for problem in validators.dns1123_label(request):
                    yield invalid(f"{here}.request", request, problem)
                key = f"{name}/{request}"
            if key in seen:
                yield duplicate(here, key)
            elif not request:
                yield from (duplicate(here, name) for each in seen if each.startswith(f"{name}/"))
            seen.add(key)
        if name not in known:
            told = "must be one of the names in pod.spec.resourceClaims"
            told += f": {', '.join(sorted(known))}" if known else " which is empty"
            yield FieldError(Problem.NOT_FOUND, here, name, told)


def validate_pod_level(spec: Obj, claims: frozenset[str], at: str, options: Options) -> Iterator[FieldError]:
    resources = spec["resources"]
    here = f"{at}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(here, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden(f"{here}.claims", "claims may not be set for Resources at pod-level")
    yield from _validate(resources, _validate_pod_level_name, claims, here, options)
    yield from _validate_consistency(spec, resources, here)


def _validate_consistency(spec: Obj, resources: Obj, at: str) -> Iterator[FieldError]:
    """The pod as a whole asks for no less than its containers do together, and none may use more than the pod."""
    requests, limits = amounts.parsed(resources.get("requests")), amounts.parsed(resources.get("limits"))
    for name, needed in totals.of_containers(spec, "requests").items():
        if name in requests and needed > requests[name]:
            told = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{at}.requests[{name}]", str(requests[name]), told)
    for name, needed in totals.of_containers(spec, "limits").items():
        if is_huge_pages(name) and name in limits and needed > limits[name]:
            told = f"must be greater than or equal to aggregate container limits of {needed}"
            yield invalid(f"{at}.limits[{name}]", str(limits[name]), told)
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in amounts.parsed(totals.asked(container, "limits")).items():
            if name in limits and limit > limits[name]:
                told = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{at}.containers[{position}][{name}].limits", str(limit), told)
