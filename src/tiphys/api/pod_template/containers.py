"""Containers: regular, init and ephemeral."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiphys.api.pod_template.env import validate_env, validate_env_from
from tiphys.api.pod_template.handlers import (
    PROBES,
    validate_init_restart_policy,
    validate_lifecycle,
    validate_probes,
    validate_restart_policy,
)
from tiphys.api.pod_template.mounts import validate_devices, validate_mounts
from tiphys.api.pod_template.options import Options
from tiphys.api.pod_template.requirements import validate_container_requirements
from tiphys.api.pod_template.security import validate_container_context
from tiphys.api.pod_template.totals import is_restartable
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required
from tiphys.machinery.tree import Obj

PULL_POLICIES = frozenset(("Always", "IfNotPresent", "Never"))
_PROTOCOLS = frozenset(("TCP", "UDP", "SCTP"))
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
# In the order of the internal type, by which upstream tells of them.
_FORBIDDEN_IF_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the spec its containers depend on."""

    volumes: dict[str, Obj]
    claims: frozenset[str]
    grace: int | None
    restart_policy: str
    host_users: bool
    system: Obj | None
    options: Options


def validate_common(container: Obj, around: Surroundings, at: str) -> Iterator[FieldError]:
    name = container.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    else:
        for problem in validators.dns1123_label(name):
            yield invalid(f"{at}.name", name, problem)
    if not container.get("image"):
        yield required(f"{at}.image")
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        yield from _missing_or_unsupported(policy, _MESSAGE_POLICIES, f"{at}.terminationMessagePolicy")
    if container.get("ports"):
        yield from validate_ports(container["ports"], f"{at}.ports")
    if container.get("env"):
        yield from validate_env(container["env"], f"{at}.env")
    if container.get("envFrom"):
        yield from validate_env_from(container["envFrom"], f"{at}.envFrom")
    if container.get("volumeMounts"):
        yield from validate_mounts(container, around.volumes, f"{at}.volumeMounts")
    if container.get("volumeDevices"):
        yield from validate_devices(container, around.volumes, f"{at}.volumeDevices")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        yield from validate_pull_policy(container.get("imagePullPolicy"), f"{at}.imagePullPolicy")
    if container.get("resources"):
        yield from validate_container_requirements(container["resources"], around.claims, f"{at}.resources", around.options)
    if container.get("resizePolicy"):
        yield from _validate_resize_policy(container["resizePolicy"], around.restart_policy, f"{at}.resizePolicy")
    if container.get("securityContext"):
        yield from validate_container_context(container["securityContext"], f"{at}.securityContext", around.host_users)


def _missing_or_unsupported(value: str | None, supported: tuple[str, ...], at: str) -> Iterator[FieldError]:
    yield not_supported(at, value, supported) if value else required(at)


def validate_pull_policy(policy: str | None, at: str) -> Iterator[FieldError]:
    if policy not in PULL_POLICIES:
        yield from _missing_or_unsupported(policy, ("Always", "IfNotPresent", "Never"), at)


def validate_ports(ports: list[Obj], at: str) -> Iterator[FieldError]:
    names = set()
    for position, port in enumerate(ports):
        name = port.get("name")
        if name:
            problems = validators.port_name(name)
            for problem in problems:
                yield invalid(f"{at}[{position}].name", name, problem)
            if not problems:
                if name in names:
                    yield duplicate(f"{at}[{position}].name", name)
                names.add(name)
        number = port.get("containerPort") or 0
        if not number:
            yield required(f"{at}[{position}].containerPort")
        elif not 0 < number < 65536:
            yield invalid(f"{at}[{position}].containerPort", number, "must be between 1 and 65535, inclusive")
        host_port = port.get("hostPort") or 0
        if host_port and not 0 < host_port < 65536:
            yield invalid(f"{at}[{position}].hostPort", host_port, "must be between 1 and 65535, inclusive")
        protocol = port.get("protocol")
        if protocol not in _PROTOCOLS:
            yield from _missing_or_unsupported(protocol, ("SCTP", "TCP", "UDP"), f"{at}[{position}].protocol")


def _validate_resize_policy(policies: list[Obj], pod_policy: str, at: str) -> Iterator[FieldError]:
    seen = set()
    for position, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            yield duplicate(f"{at}[{position}]", name)
        seen.add(name)
        if name not in ("cpu", "memory"):
            yield from _missing_or_unsupported(name, ("cpu", "memory"), at)
        if restart not in ("NotRequired", "RestartContainer"):
            yield from _missing_or_unsupported(restart, ("NotRequired", "RestartContainer"), at)
        if pod_policy == "Never" and restart != "NotRequired":
            yield invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def validate_host_ports(containers: list[Obj], at: str) -> Iterator[FieldError]:
    """No two may claim the same port of the host."""
    taken = set()
    for position, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                claim = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
                if claim in taken:
                    yield duplicate(f"{at}[{position}].ports[{place}].hostPort", claim)
                taken.add(claim)


def validate_containers(containers: list[Obj], around: Surroundings, at: str) -> Iterator[FieldError]:
    if not containers:
        yield required(at)
        return
    names = set()
    ports = False
    for position, container in enumerate(containers):
        here = f"{at}[{position}]"
        yield from validate_common(container, around, here)
        name = container.get("name") or ""
        if name in names:
            yield duplicate(f"{here}.name", name)
        names.add(name)
        if container.get("lifecycle") is not None:
            yield from validate_lifecycle(container["lifecycle"], around.grace, around.system, f"{here}.lifecycle")
        yield from validate_probes(container, around.grace, here)
        if container.get("restartPolicy") is not None or container.get("restartPolicyRules"):
            yield from validate_restart_policy(container, here)
        ports = ports or bool(container.get("ports"))
    if ports:
        yield from validate_host_ports(containers, at)


def validate_init_containers(spec: Obj, around: Surroundings, at: str) -> Iterator[FieldError]:
    names = {container.get("name") or "" for container in spec.get("containers") or ()}
    for position, container in enumerate(spec["initContainers"]):
        here = f"{at}[{position}]"
        yield from validate_common(container, around, here)
        yield from validate_init_restart_policy(container, here)
        name = container.get("name") or ""
        if name in names:
            yield duplicate(f"{here}.name", name)
        if name:
            names.add(name)
        # They run one after the other, so that only one's own ports can collide; the index is upstream's.
        yield from validate_host_ports([container], at)
        sidecar = is_restartable(container)
        if sidecar:
            if container.get("lifecycle") is not None:
                yield from validate_lifecycle(container["lifecycle"], around.grace, around.system, f"{here}.lifecycle")
            yield from validate_probes(container, around.grace, here)
        else:
            for field in ("lifecycle", *PROBES):
                if container.get(field) is not None:
                    yield forbidden(f"{here}.{field}", _ONLY_SIDECARS)
        if not sidecar and not around.options.restarted_init_containers:
            for place, policy in enumerate(container.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    field = f"{here}.resizePolicy[{place}].restartPolicy"
                    why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    yield invalid(field, "RestartContainer", why)


def validate_ephemeral_containers(spec: Obj, around: Surroundings, at: str) -> Iterator[FieldError]:
    others = {c.get("name") or "" for group in ("containers", "initContainers") for c in spec.get(group) or ()}
    names = set(others)
    for position, container in enumerate(spec["ephemeralContainers"]):
        here = f"{at}[{position}]"
        yield from validate_common(container, around, here)
        yield from validate_image_spelling(container, here)
        name, target = container.get("name") or "", container.get("targetContainerName")
        if name in names:
            yield duplicate(f"{here}.name", name)
        names.add(name)
        if target and target not in others:
            yield not_found(f"{here}.targetContainerName", target)
        for field in _FORBIDDEN_IF_EPHEMERAL:
            value = container.get(field)
            if value or (isinstance(value, (list, dict)) and field != "resources"):
                yield forbidden(f"{here}.{field}", _NOT_EPHEMERAL)
        for place, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(f"{here}.volumeMounts[{place}].{field}", _NOT_EPHEMERAL)


def validate_image_spelling(container: Obj, at: str) -> Iterator[FieldError]:
    """Templates may hold a blank image as a mark for others to fill in; pods may not."""
    image = container.get("image") or ""
    if image != image.strip():
        yield invalid(f"{at}.image", image, "must not have leading or trailing whitespace")
