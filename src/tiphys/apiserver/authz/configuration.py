"""The file of --authorization-config: AuthorizationConfiguration of apiserver.config.k8s.io, read and checked. Core.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#using-configuration-file-for-authorization
"""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tiphys.apiserver.authz.attributes import Verdict
from tiphys.apiserver.authz.conditions import problem_of
from tiphys.apiserver.authz.webhook import ALLOWED_SECONDS, DENIED_SECONDS, Settings
from tiphys.machinery import duration
from tiphys.machinery.decode import parse as parse_body
from tiphys.machinery.decode import strict_problem
from tiphys.machinery.decode.parsing import YAML
from tiphys.machinery.decode.problems import Refused, mismatch
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import (
    FieldError,
    Verbatim,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_many,
)
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators.values import dns1123_subdomain

GROUP, KIND = "apiserver.config.k8s.io", "AuthorizationConfiguration"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
TYPES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
WEBHOOK = "Webhook"
LONGEST = 30 * duration.SECOND
MOST_CONDITIONS = 64

_DURATION = "Duration"
_FIELDS: dict[str, dict[str, str]] = {
    KIND: {"apiVersion": "string", "kind": "string", "authorizers": "[]AuthorizerConfiguration"},
    "AuthorizerConfiguration": {"type": "string", "name": "string", "webhook": "WebhookConfiguration"},
    "WebhookConfiguration": {
        "authorizedTTL": _DURATION,
        "cacheAuthorizedRequests": "bool",
        "unauthorizedTTL": _DURATION,
        "cacheUnauthorizedRequests": "bool",
        "timeout": _DURATION,
        "subjectAccessReviewVersion": "string",
        "matchConditionSubjectAccessReviewVersion": "string",
        "failurePolicy": "string",
        "connectionInfo": "WebhookConnectionInfo",
        "matchConditions": "[]WebhookMatchCondition",
    },
    "WebhookConnectionInfo": {"type": "string", "kubeConfigFile": "string"},
    "WebhookMatchCondition": {"expression": "string"},
}
"""By type of Go: its fields and their types."""
_PLAIN: dict[str, type] = {"string": str, "bool": bool, _DURATION: str}
_POLICIES = {"NoOpinion": Verdict.NO_OPINION, "Deny": Verdict.DENY}

FileProblem = Callable[[str], str]
"""What is wrong with a file of that path; empty if it is a regular one."""


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    file: str
    """The kubeconfig of who is asked."""
    settings: Settings
    seconds: float
    """That one attempt may take."""
    conditions: tuple[str, ...] = ()
    """Expressions that all have to hold, or else it is not asked."""


@dataclass(frozen=True, slots=True)
class AuthorizerConfiguration:
    type: str
    name: str
    webhook: WebhookConfiguration | None = None


def parse(data: bytes, file_problem: FileProblem, needed: Collection[str] = ()) -> tuple[AuthorizerConfiguration, ...]:
    """The authorizers in their order. ValueError tells what is wrong. `needed`: types that have to be among them."""
    tree = _read(data)
    problems: list[FieldError | str] = list(_check(tree, file_problem))
    if not problems:
        problems += _misnamed(tree, needed)
    if problems:
        told = list(dict.fromkeys(map(str, problems)))
        raise ValueError(told[0] if len(told) == 1 else f"[{', '.join(told)}]")
    return tuple(_authorizer(each) for each in tree["authorizers"])


def _read(data: bytes) -> Obj:
    try:
        parsed = parse_body(data, YAML, find_duplicates=True)
        tree: Obj = parsed.tree
        if not isinstance(tree, dict):
            told = mismatch(tree, "struct { APIVersion string; Kind string }", "", "")
            raise Refused(f"couldn't get version/kind; json parse error: {told}")
        if data and not tree.get("kind"):
            raise Refused(f"Object 'Kind' is missing in '{data.decode(errors='replace')}'")
        if data and (tree.get("apiVersion"), tree.get("kind")) not in [(f"{GROUP}/{each}", KIND) for each in VERSIONS]:
            raise Refused(f'no kind "{tree.get("kind", "")}" is registered for version "{tree.get("apiVersion", "")}"')
        unknown: list[str] = []
        _conform(tree, KIND, "", "", KIND, unknown)
        if unknown or parsed.duplicates:
            raise Refused(strict_problem(unknown, list(parsed.duplicates)))
    except (ApiError, Refused) as problem:
        raise ValueError(f"failed to load AuthorizationConfiguration from file: {problem}") from None
    return tree


def _conform(tree: Any, kind: str, at: str, fields: str, owner: str, unknown: list[str]) -> None:
    """`at` has the places in lists, `fields` has not. Raises Refused for a value of another type than `kind`."""
    if tree is None:
        return
    if kind.startswith("[]"):
        if not isinstance(tree, list):
            raise mismatch(tree, f"[]v1.{kind[2:]}", owner, fields)
        for number, each in enumerate(tree):
            _conform(each, kind[2:], index(at, number), fields, owner, unknown)
    elif kind in _PLAIN:
        if not isinstance(tree, _PLAIN[kind]):
            raise mismatch(tree, "string" if kind == _DURATION else kind, owner, fields)
        if kind == _DURATION:
            _nanoseconds(str(tree))
    elif not isinstance(tree, dict):
        raise mismatch(tree, f"v1.{kind}", owner, fields)
    else:
        for name, value in tree.items():
            if name in _FIELDS[kind]:
                _conform(value, _FIELDS[kind][name], child(at, name), child(fields, name), kind, unknown)
            else:
                unknown.append(child(at, str(name)))


def _nanoseconds(text: str) -> int:
    try:
        return duration.parse(text)
    except ValueError as problem:
        raise Refused(str(problem)) from None


def _check(tree: Obj, file_problem: FileProblem) -> Iterator[FieldError]:
    listed = [each or {} for each in tree.get("authorizers") or ()]
    if not listed:
        yield required("authorizers", "at least one authorization mode must be defined")
    types: set[str] = set()
    names: set[str] = set()
    for number, each in enumerate(listed):
        at, of_type = index("authorizers", number), each.get("type") or ""
        if not of_type:
            yield required(child(at, "type"))
        elif of_type not in TYPES:
            yield not_supported(child(at, "type"), of_type, sorted(TYPES))
        elif of_type in types and of_type != WEBHOOK:
            yield duplicate(child(at, "type"), of_type)
        else:
            types.add(of_type)
            yield from _check_name(each.get("name") or "", child(at, "name"), names)
            yield from _check_webhook_of(each, at, file_problem)


def _check_name(name: str, at: str, names: set[str]) -> Iterator[FieldError]:
    if not name:
        yield required(at)
    elif name in names:
        yield duplicate(at, name)
    elif problems := dns1123_subdomain(name):
        yield invalid(at, name, f"authorizer name is invalid: {', '.join(problems)}")
    names.add(name)


def _check_webhook_of(authorizer: Obj, at: str, file_problem: FileProblem) -> Iterator[FieldError]:
    webhook = authorizer.get("webhook")
    if authorizer["type"] != WEBHOOK:
        if webhook is not None:
            yield invalid(child(at, "webhook"), "non-null", "may only be specified when type=Webhook")
    elif webhook is None:
        yield required(child(at, "webhook"), "required when type=Webhook")
    else:
        yield from _check_webhook(webhook, at, file_problem)


def _check_webhook(webhook: Obj, at: str, file_problem: FileProblem) -> Iterator[FieldError]:
    """Upstream leaves `webhook` out of the paths, too."""
    timeout = _nanoseconds(webhook.get("timeout") or "0s")
    if timeout == 0:
        yield required(child(at, "timeout"))
    elif not 0 < timeout <= LONGEST:
        yield invalid(child(at, "timeout"), duration.spell(timeout), "must be > 0s and <= 30s")
    for name in ("authorizedTTL", "unauthorizedTTL"):
        kept = _nanoseconds(webhook.get(name) or "0s")
        if kept < 0:
            yield invalid(child(at, name), duration.spell(kept), "must be > 0s")
    yield from _check_choice(webhook, at, "subjectAccessReviewVersion", ("v1", "v1beta1"))
    conditions = [each or {} for each in webhook.get("matchConditions") or ()]
    version = "matchConditionSubjectAccessReviewVersion"
    if webhook.get(version):
        yield from _check_choice(webhook, at, version, ("v1",))
    elif conditions:
        yield required(child(at, version), "required if match conditions are specified")
    yield from _check_choice(webhook, at, "failurePolicy", tuple(_POLICIES))
    yield from _check_connection(webhook.get("connectionInfo") or {}, child(at, "connectionInfo"), file_problem)
    yield from _check_conditions(conditions, child(at, "matchConditions"))


def _check_choice(webhook: Obj, at: str, name: str, choices: tuple[str, ...]) -> Iterator[FieldError]:
    value = webhook.get(name) or ""
    if not value:
        yield required(child(at, name))
    elif value not in choices:
        yield not_supported(child(at, name), value, choices)


def _check_connection(connection: Obj, at: str, file_problem: FileProblem) -> Iterator[FieldError]:
    file, here = connection.get("kubeConfigFile"), child(at, "kubeConfigFile")
    match connection.get("type") or "":
        case "":
            yield required(child(at, "type"))
        case "InClusterConfig":
            if file is not None:
                yield invalid(here, file, "can only be set when type=KubeConfigFile")
            else:
                # An API server that asked itself would never get an answer. Upstream crashes here.
                yield forbidden(child(at, "type"), "InClusterConfig is not allowed for kube-apiserver")
        case "KubeConfigFile":
            if not file:
                yield required(here)
            elif not file.startswith("/"):
                yield invalid(here, file, "must be an absolute path")
            elif problem := file_problem(file):
                yield invalid(here, file, problem)
        case other:
            shown = Verbatim(json.dumps({"Type": other, "KubeConfigFile": file}, separators=(",", ":")))
            yield not_supported(child(at, "type"), shown, ("InClusterConfig", "KubeConfigFile"))


def _check_conditions(conditions: list[Obj], at: str) -> Iterator[FieldError]:
    if len(conditions) > MOST_CONDITIONS:
        yield too_many(at, len(conditions), MOST_CONDITIONS)
        return
    seen: set[str] = set()
    for number, condition in enumerate(conditions):
        here, text = child(index(at, number), "expression"), condition.get("expression") or ""
        if not text.strip():
            yield required(here)
        elif text in seen:
            yield duplicate(here, text)
        elif problem := problem_of(text):
            yield invalid(here, text, problem)
        seen.add(text)


def _misnamed(tree: Obj, needed: Collection[str]) -> Iterator[str]:
    fixed = [each for each in tree["authorizers"] if each["type"] != WEBHOOK]
    for each in fixed:
        if each["name"] != each["type"].lower():
            yield f"expected name {each['type'].lower()} for authorizer {each['type']} instead of {each['name']}"
    missing = sorted(set(needed) - {each["type"] for each in fixed})
    if missing:
        yield f"missing required types: [{' '.join(missing)}]"


def _authorizer(tree: Obj) -> AuthorizerConfiguration:
    webhook = tree.get("webhook")
    return AuthorizerConfiguration(tree["type"], tree["name"], _webhook(webhook) if webhook is not None else None)


def _webhook(tree: Obj) -> WebhookConfiguration:
    def kept(length: str, cached: str, default: float) -> float:
        if tree.get(cached) is False:
            return 0.0
        return duration.seconds(tree.get(length) or "0s") or default

    return WebhookConfiguration(
        tree["connectionInfo"]["kubeConfigFile"],
        Settings(
            tree["subjectAccessReviewVersion"],
            kept("authorizedTTL", "cacheAuthorizedRequests", ALLOWED_SECONDS),
            kept("unauthorizedTTL", "cacheUnauthorizedRequests", DENIED_SECONDS),
            _POLICIES[tree["failurePolicy"]],
        ),
        duration.seconds(tree["timeout"]),
        tuple(each["expression"] for each in tree.get("matchConditions") or ()),
    )
