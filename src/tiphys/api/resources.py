"""Names of resources (cpu, hugepages-2Mi, example.com/gpu): where each may stand, and the quantities that may go with it."""

from collections.abc import Iterator
from functools import lru_cache

from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.validators import AT_LEAST_ZERO, qualified_name

GREATER_THAN_ZERO = "must be greater than zero"

_COMPUTE = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_QUOTA = (
    _COMPUTE
    | _COUNTED
    | {f"requests.{name}" for name in ("cpu", "memory", "storage", "ephemeral-storage")}
    | {f"limits.{name}" for name in ("cpu", "memory", "ephemeral-storage")}
)
_STANDARD = _QUOTA | {"storage"}


def is_huge_pages(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_quota_huge_pages(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def is_native(name: str) -> bool:
    """Kubernetes' own: without a domain, or in that of Kubernetes."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(1024)
def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def may_be_overcommitted(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def is_standard_quota(name: str) -> bool:
    return name in _QUOTA or _is_quota_huge_pages(name)


def is_whole_number(name: str) -> bool:
    return name in _COUNTED or is_extended(name)


def validate_name(name: str, at: str) -> Iterator[FieldError]:
    problems = qualified_name(name)
    for problem in problems:
        yield invalid(at, name, problem)
    if not problems and "/" not in name and name not in _STANDARD and not _is_quota_huge_pages(name):
        yield invalid(at, name, "must be a standard resource type or fully qualified")


def validate_quota_name(name: str, at: str) -> Iterator[FieldError]:
    yield from validate_name(name, at)
    if "/" not in name and not is_standard_quota(name):
        yield invalid(at, name, "must be a standard resource for quota")


def validate_container_name(name: str, at: str) -> Iterator[FieldError]:
    yield from validate_name(name, at)
    if "/" not in name:
        if name not in _COMPUTE and not is_huge_pages(name):
            yield invalid(at, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(at, name, "doesn't follow extended resource name standard")


def validate_quantity(name: str, value: Quantity, at: str) -> Iterator[FieldError]:
    if value.sign() < 0:
        yield invalid(at, str(value), AT_LEAST_ZERO)
    if is_whole_number(name) and value.milli() % 1000:
        yield invalid(at, str(value), "must be an integer")


def validate_positive(value: Quantity, at: str) -> Iterator[FieldError]:
    if value.sign() <= 0:
        yield invalid(at, str(value), GREATER_THAN_ZERO)


def validate_basic(value: Quantity, at: str) -> Iterator[FieldError]:
    if value.sign() < 0:
        yield invalid(at, value.value(), "must be a valid resource quantity")
