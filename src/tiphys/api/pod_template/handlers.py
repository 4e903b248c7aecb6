"""Probes, lifecycle hooks, and what decides whether a container starts again."""

from collections.abc import Callable, Iterator

from tiphys.api.pod_template.windows import validate_stop_signal
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required, too_many
from tiphys.machinery.tree import Obj

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_MAX_RULES = 20
_MAX_EXIT_CODES = 255


def validate_probes(container: Obj, grace: int | None, at: str) -> Iterator[FieldError]:
    for name in PROBES:
        probe = container.get(name)
        if probe is not None:
            yield from _validate_probe(probe, name, grace, f"{at}.{name}")


def _validate_probe(probe: Obj, name: str, grace: int | None, at: str) -> Iterator[FieldError]:
    yield from _validate_handler(probe, _PROBE_HANDLERS, grace, at)
    for count in _COUNTS:
        value = probe.get(count)
        if value and value < 0:
            yield invalid(f"{at}.{count}", value, validators.AT_LEAST_ZERO)
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        yield invalid(f"{at}.terminationGracePeriodSeconds", own_grace, "must be greater than 0")
    if name != "readinessProbe":
        threshold = probe.get("successThreshold") or 0
        if threshold != 1:
            yield invalid(f"{at}.successThreshold", threshold, "must be 1")
    elif own_grace is not None:
        yield invalid(f"{at}.terminationGracePeriodSeconds", own_grace, "must not be set for readinessProbes")


def validate_lifecycle(lifecycle: Obj, grace: int | None, system: Obj | None, at: str) -> Iterator[FieldError]:
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            yield from _validate_handler(lifecycle[hook], _HOOK_HANDLERS, grace, f"{at}.{hook}")
    if lifecycle.get("stopSignal") is not None:
        yield from validate_stop_signal(lifecycle["stopSignal"], system, f"{at}.stopSignal")


def _validate_handler(holder: Obj, kinds: tuple[str, ...], grace: int | None, at: str) -> Iterator[FieldError]:
    found = False
    for kind in kinds:
        action = holder.get(kind)
        if action is None:
            continue
        if found:
            yield forbidden(f"{at}.{kind}", "may not specify more than 1 handler type")
        elif kind == "sleep":
            yield from _validate_sleep(action, grace, f"{at}.sleep")
        else:
            yield from _ACTIONS[kind](action, f"{at}.{kind}")
        found = True
    if not found:
        yield required(at, "must specify a handler type")


def _validate_exec(action: Obj, at: str) -> Iterator[FieldError]:
    if not action.get("command"):
        yield required(f"{at}.command")


def _validate_http_get(action: Obj, at: str) -> Iterator[FieldError]:
    if not action.get("path"):
        yield required(f"{at}.path")
    yield from validate_port(action.get("port"), f"{at}.port")
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        yield not_supported(f"{at}.scheme", scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        for problem in validators.http_header_name(name):
            yield invalid(f"{at}.httpHeaders", name, problem)


def validate_port(port: int | str | None, at: str) -> Iterator[FieldError]:
    """A number, or the name of one of the container's ports."""
    if isinstance(port, str):
        for problem in validators.port_name(port):
            yield invalid(at, port, problem)
        return
    for problem in validators.port_number(port or 0):
        yield invalid(at, port or 0, problem)


def _validate_port_of(action: Obj, at: str) -> Iterator[FieldError]:
    return validate_port(action.get("port"), f"{at}.port")


def _validate_sleep(action: Obj, grace: int | None, at: str) -> Iterator[FieldError]:
    slept = action.get("seconds") or 0
    # Without a grace period something else is wrong, and said elsewhere.
    if grace is not None and not 0 <= slept <= grace:
        yield invalid(at, slept, f"must be non-negative and less than terminationGracePeriodSeconds ({grace})")


_ACTIONS: dict[str, Callable[[Obj, str], Iterator[FieldError]]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_port_of,
    "grpc": _validate_port_of,
}


def validate_restart_policy(container: Obj, at: str) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        yield required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in ("Always", "Never", "OnFailure"):
        yield not_supported(f"{at}.restartPolicy", policy, ("Always", "Never", "OnFailure"))
    if len(rules) > _MAX_RULES:
        yield too_many(f"{at}.restartPolicyRules", len(rules), _MAX_RULES)
    for position, rule in enumerate(rules):
        yield from _validate_rule(rule, f"{at}.restartPolicyRules[{position}]")


def _validate_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    action = rule.get("action") or ""
    if action not in ("Restart", "RestartAllContainers"):
        yield not_supported(f"{at}.action", action, ("Restart", "RestartAllContainers"))
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{at}.exitCodes", "must be specified")
        return
    operator = codes.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield not_supported(f"{at}.exitCodes.operator", operator, ("In", "NotIn"))
    values = codes.get("values") or ()
    if len(values) > _MAX_EXIT_CODES:
        yield too_many(f"{at}.exitCodes.values", len(values), _MAX_EXIT_CODES)


def validate_init_restart_policy(container: Obj, at: str) -> Iterator[FieldError]:
    """Rules without a policy are told of once, and not looked into."""
    if container.get("restartPolicy") is not None:
        yield from validate_restart_policy(container, at)
    elif container.get("restartPolicyRules"):
        yield required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")
