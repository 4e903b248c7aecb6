"""Eviction: asking for a pod to be taken away, if its budgets allow. POSTed to pods/eviction and never stored."""

from collections.abc import Iterator
from typing import Any

from tiphys.machinery.errors import ApiError, bad_request, invalid
from tiphys.machinery.fields import FieldError
from tiphys.machinery.fields import invalid as invalid_value
from tiphys.machinery.tree import Obj, get

GROUP, VERSION, KIND = "policy", "v1", "Eviction"
SCHEMA = "io.k8s.api.policy.v1.Eviction"


def validate(eviction: Obj) -> Iterator[FieldError]:
    at = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
    if get(eviction, tuple(at.split("."))):
        yield invalid_value(at, True, "can not be set for pod eviction, try after removing the option")


def check(eviction: Obj, name: str) -> ApiError | None:
    """What is wrong with an eviction of the pod `name`."""
    if get(eviction, ("metadata", "name"), "") != name:
        return bad_request("name in URL does not match name in Eviction object")
    problems = list(validate(eviction))
    return invalid(GROUP, KIND, name, problems) if problems else None


def delete_options(eviction: Obj, dry_run: list[str] | None = None) -> Obj:
    """Options of the delete that follows. Dry run may be asked for in the body or in the URL."""
    options: dict[str, Any] = dict(eviction.get("deleteOptions") or {})
    if dry_run:
        options["dryRun"] = dry_run
    return options
