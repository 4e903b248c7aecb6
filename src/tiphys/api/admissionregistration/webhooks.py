"""What mutating and validating webhook configurations have in common."""

from collections.abc import Iterator, Sequence
from typing import Any

from tiphys.api.admissionregistration.client_config import default_client_config, validate_client_config
from tiphys.api.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    default_match,
    default_rules,
    validate_enum,
    validate_match_conditions,
    validate_rule,
)
from tiphys.api.kind import AGE, Column
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj, Path
from tiphys.machinery.validators import dns1035_label, dns1123_subdomain

GENERATION_OF: tuple[Path, ...] = (("webhooks",),)
REVIEW_VERSIONS = ("v1", "v1beta1")
SIDE_EFFECTS = ("None", "NoneOnDryRun")


def default_webhooks(configuration: Obj) -> None:
    for webhook in configuration.get("webhooks") or ():
        for field, value in (("failurePolicy", "Fail"), ("timeoutSeconds", 10)):
            if webhook.get(field) is None:
                webhook[field] = value
        default_match(webhook)
        default_rules(webhook.get("rules"))
        default_client_config(webhook.get("clientConfig") or {})


def validate_webhooks(configuration: Obj) -> Iterator[FieldError]:
    names: set[str] = set()
    for position, webhook in enumerate(configuration.get("webhooks") or ()):
        at = index("webhooks", position)
        name = webhook.get("name", "")
        yield from _validate_webhook(webhook, at)
        yield from _validate_review_versions(webhook.get("admissionReviewVersions") or (), child(at, "admissionReviewVersions"))
        if name and name in names:
            yield duplicate(child(at, "name"), name)
        names.add(name)


def _validate_webhook(webhook: Obj, at: str) -> Iterator[FieldError]:
    yield from _validate_name(webhook.get("name", ""), child(at, "name"))
    for position, rule in enumerate(webhook.get("rules") or ()):
        yield from validate_rule(rule, index(child(at, "rules"), position))
    yield from validate_enum(webhook, "failurePolicy", at, FAILURE_POLICIES)
    yield from validate_enum(webhook, "matchPolicy", at, MATCH_POLICIES)
    side_effects = webhook.get("sideEffects")
    if side_effects is None:
        yield required(child(at, "sideEffects"), "must specify one of " + ", ".join(SIDE_EFFECTS))
    elif side_effects not in SIDE_EFFECTS:
        yield not_supported(child(at, "sideEffects"), side_effects, SIDE_EFFECTS)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        yield invalid(child(at, "timeoutSeconds"), seconds, "the timeout value must be between 1 and 30 seconds")
    for field in ("namespaceSelector", "objectSelector"):
        if webhook.get(field) is not None:
            yield from validate_label_selector(webhook[field], child(at, field))
    yield from validate_enum(webhook, "reinvocationPolicy", at, REINVOCATION_POLICIES)
    yield from validate_client_config(webhook.get("clientConfig") or {}, child(at, "clientConfig"))
    yield from validate_match_conditions(webhook.get("matchConditions") or (), child(at, "matchConditions"))


def _validate_name(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    problems = dns1123_subdomain(name)
    if problems:
        yield invalid(at, name, ",".join(problems))
    elif name.count(".") < 2:
        yield invalid(at, name, "should be a domain with at least three segments separated by dots")


def _validate_review_versions(versions: Sequence[str], at: str) -> Iterator[FieldError]:
    if not versions:
        yield required(at, "must specify one of " + ", ".join(REVIEW_VERSIONS))
        return
    for position, version in enumerate(versions):
        if version in versions[:position]:
            yield invalid(index(at, position), version, "duplicate version")
            continue
        for told in dns1035_label(version):
            yield invalid(index(at, position), version, told)
    if not set(REVIEW_VERSIONS) & set(versions):
        yield invalid(at, versions, "must include at least one of " + ", ".join(REVIEW_VERSIONS))


def _count(configuration: Obj, _now: float) -> Any:
    return len(configuration.get("webhooks") or ())


COLUMNS = (
    Column(
        "Webhooks",
        _count,
        type="integer",
        description="Webhooks indicates the number of webhooks registered in this configuration",
    ),
    AGE,
)
