"""What the file of `--admission-control-config-file` says about single plugins (apiserver.config.k8s.io/v1)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from tiphys.apiserver.admission.event_rate_limit import DEFAULT_CACHE_SIZE, Limit
from tiphys.apiserver.admission.image_policy_webhook import ImagePolicy
from tiphys.apiserver.admission.pod_security import Exemptions, PodSecuritySettings
from tiphys.apiserver.admission.pod_security.policy import Policy, Standard, parse_level, parse_minor
from tiphys.client.kubeconfig import Access
from tiphys.machinery import duration
from tiphys.machinery.tree import Obj

_LIMIT_TYPES = ("Server", "Namespace", "User", "SourceAndObject")


class Unusable(ValueError):
    """What is wrong with the configuration."""


@dataclass(frozen=True, slots=True)
class Configuration:
    pod_security: PodSecuritySettings = field(default_factory=PodSecuritySettings)
    node_selectors: dict[str, str] = field(default_factory=dict)
    toleration_seconds: tuple[int, int] = (300, 300)
    """How long a pod stays on a node that is not ready, and on one that cannot be reached."""
    tolerations: tuple[tuple[Obj, ...], tuple[Obj, ...]] = ((), ())
    """The default ones, and those allowed at most."""
    event_limits: tuple[Limit, ...] = ()
    image_policy: ImagePolicy | None = None


def read(text: str, open_file: Callable[[str], str], open_kubeconfig: Callable[[str], Access]) -> Configuration:
    """`open_file` reads the files that entries name, `open_kubeconfig` those that say where a webhook is. Raises Unusable."""
    tree = _load(text)
    if tree.get("kind") != "AdmissionConfiguration":
        raise Unusable("unexpected config object: kind must be AdmissionConfiguration")
    found = Configuration()
    for entry in tree.get("plugins") or ():
        given = entry.get("configuration") or (_load(open_file(entry["path"])) if entry.get("path") else None)
        name = entry.get("name", "")
        change = _READERS.get(name)
        if given is not None and change is not None:
            found = change(found, given)
        elif given is not None and name == "ImagePolicyWebhook":
            found = replace(found, image_policy=_image_policy(given.get("imagePolicy") or {}, open_kubeconfig))
    return found


def _load(text: str) -> Obj:
    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise Unusable(str(problem)) from None
    if not isinstance(tree, dict):
        raise Unusable("the configuration is not an object")
    return tree


def _pod_security(found: Configuration, given: Obj) -> Configuration:
    defaults, exempt = given.get("defaults") or {}, given.get("exemptions") or {}
    modes = {mode: _standard(defaults, mode) for mode in ("enforce", "audit", "warn")}
    exemptions = Exemptions(
        frozenset(exempt.get("usernames") or ()),
        frozenset(exempt.get("namespaces") or ()),
        frozenset(exempt.get("runtimeClasses") or ()),
    )
    return replace(found, pod_security=PodSecuritySettings(Policy(**modes), exemptions))


def _standard(defaults: Obj, mode: str) -> Standard:
    try:
        level = parse_level(defaults.get(mode) or "privileged")
        return Standard(level, parse_minor(defaults.get(f"{mode}-version") or "latest"))
    except ValueError as problem:
        raise Unusable(f"PodSecurity: defaults.{mode}: {problem}") from None


def _node_selectors(found: Configuration, given: Obj) -> Configuration:
    return replace(found, node_selectors=dict(given.get("podNodeSelectorPluginConfig") or {}))


def _tolerations(found: Configuration, given: Obj) -> Configuration:
    return replace(found, tolerations=(tuple(given.get("default") or ()), tuple(given.get("whitelist") or ())))


def _event_limits(found: Configuration, given: Obj) -> Configuration:
    limits = given.get("limits") or ()
    if not limits:
        raise Unusable("EventRateLimit: limits: Invalid value: must not be empty")
    for each in limits:
        if each.get("type") not in _LIMIT_TYPES:
            raise Unusable(f"EventRateLimit: unknown type {each.get('type')!r}")
        if each.get("burst", 0) <= 0 or each.get("qps", 0) <= 0:
            raise Unusable("EventRateLimit: burst and qps must be positive")
    made = (Limit(each["type"], each["qps"], each["burst"], each.get("cacheSize") or DEFAULT_CACHE_SIZE) for each in limits)
    return replace(found, event_limits=tuple(made))


def _image_policy(given: Obj, open_kubeconfig: Callable[[str], Access]) -> ImagePolicy:
    if not given.get("kubeConfigFile"):
        raise Unusable("ImagePolicyWebhook: imagePolicy.kubeConfigFile is required")
    return ImagePolicy(
        access=open_kubeconfig(given["kubeConfigFile"]),
        first_pause=_within(given.get("retryBackoff", 0), 0.001, (0.001, 300.0), 0.5),
        allowed_seconds=_within(given.get("allowTTL", 0), 1.0, (1.0, 1800.0), 300.0),
        denied_seconds=_within(given.get("denyTTL", 0), 1.0, (1.0, 1800.0), 30.0),
        default_allow=bool(given.get("defaultAllow")),
    )


def _within(value: int, unit: float, bounds: tuple[float, float], default: float) -> float:
    """Seconds: -1 switches it off and 0 means the default."""
    if value in (-1, 0):
        return default if value == 0 else 0.0
    least, most = bounds
    if not least <= value * unit <= most:
        told = [duration.spell(round(each * duration.SECOND)) for each in (least, most, value * unit)]
        raise Unusable(f"ImagePolicyWebhook: valid value is between {told[0]} and {told[1]}, got {told[2]}")
    return value * unit


_READERS: dict[str, Callable[[Configuration, Obj], Configuration]] = {
    "PodSecurity": _pod_security,
    "PodNodeSelector": _node_selectors,
    "PodTolerationRestriction": _tolerations,
    "EventRateLimit": _event_limits,
}
