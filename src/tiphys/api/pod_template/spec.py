"""All checks of a pod spec, in upstream's order."""

from collections.abc import Callable, Iterator

from tiphys.api.pod_template.containers import (
    Surroundings,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from tiphys.api.pod_template.env import validate_file_references
from tiphys.api.pod_template.host import (
    validate_dns,
    validate_host_aliases,
    validate_host_network_ports,
    validate_hostname_override,
)
from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.options import Options, containers, containers_at
from tiphys.api.pod_template.requirements import validate_container_requirements, validate_pod_level
from tiphys.api.pod_template.scheduling import validate_affinity, validate_gates, validate_spread, validate_tolerations
from tiphys.api.pod_template.security import validate_host_users, validate_pod_context
from tiphys.api.pod_template.volumes import validate_volumes
from tiphys.api.pod_template.windows import validate_host_process, validate_os
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, Problem, duplicate, invalid, not_supported, required
from tiphys.machinery.tree import Obj

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2**31 - 1
_NOTHING: frozenset[str] = frozenset()


def validate_spec(spec: Obj, at: str, options: Options, metadata: Obj | None = None) -> Iterator[FieldError]:
    """`metadata` is that of the pod; None for a template."""
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        yield required(f"{at}.terminationGracePeriodSeconds")
    volumes: dict[str, Obj] = {}
    if spec.get("volumes"):
        name = (metadata or {}).get("name") or ""
        volumes, problems = validate_volumes(spec["volumes"], name, f"{at}.volumes", options)
        yield from problems
    claims = _NOTHING
    if spec.get("resourceClaims"):
        claims = frozenset(claim["name"] for claim in spec["resourceClaims"] if claim.get("name"))
        yield from _validate_resource_claims(spec["resourceClaims"], metadata, f"{at}.resourceClaims")
    policy = spec.get("restartPolicy") or ""
    host_users = spec.get("hostUsers") is not False
    around = Surroundings(volumes, claims, grace, policy, host_users, spec.get("os"), options)
    yield from validate_containers(spec.get("containers") or [], around, f"{at}.containers")
    if spec.get("initContainers"):
        yield from validate_init_containers(spec, around, f"{at}.initContainers")
    if spec.get("ephemeralContainers"):
        yield from validate_ephemeral_containers(spec, around, f"{at}.ephemeralContainers")
    if spec.get("resources") is not None:
        yield from validate_pod_level(spec, claims, at, options)
    if spec.get("hostNetwork"):
        yield from validate_host_network_ports(spec, at, options.is_pod)
    if policy not in RESTART_POLICIES:
        yield from _unknown(policy, RESTART_POLICIES, f"{at}.restartPolicy")
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        yield from _unknown(spec.get("dnsPolicy") or "", _DNS_POLICIES, f"{at}.dnsPolicy")
    if spec.get("nodeSelector"):
        yield from validators.labels(spec["nodeSelector"], f"{at}.nodeSelector")
    if spec.get("securityContext") or spec.get("shareProcessNamespace"):
        yield from validate_pod_context(spec.get("securityContext") or {}, spec, f"{at}.securityContext", options)
    yield from _validate_placement(spec, at, options)
    yield from _validate_rest(spec, at, options)


def _unknown(value: str, known: tuple[str, ...], at: str) -> Iterator[FieldError]:
    yield not_supported(at, value, known) if value else required(at)


def _validate_placement(spec: Obj, at: str, options: Options) -> Iterator[FieldError]:
    if spec.get("affinity"):
        yield from validate_affinity(spec["affinity"], f"{at}.affinity", options)
    if spec.get("dnsConfig") is not None or spec.get("dnsPolicy") == "None":
        yield from validate_dns(spec, f"{at}.dnsConfig")
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        yield from validators.label_name(gate.get("conditionType") or "", f"{at}.readinessGates[{position}].conditionType")
    if spec.get("schedulingGates"):
        yield from validate_gates(spec["schedulingGates"], f"{at}.schedulingGates")
    if spec.get("topologySpreadConstraints"):
        yield from validate_spread(spec["topologySpreadConstraints"], f"{at}.topologySpreadConstraints", options)
    if _mentions_windows(spec):
        yield from validate_host_process(spec, at)
    if spec.get("hostUsers") is False:
        yield from validate_host_users(spec, at, containers_at(spec, at), options)
    if spec.get("hostnameOverride") is not None:
        yield from validate_hostname_override(spec, f"{at}.hostnameOverride")


def _mentions_windows(spec: Obj) -> bool:
    context = spec.get("securityContext")
    if context and context.get("windowsOptions"):
        return True
    return any(each["securityContext"].get("windowsOptions") for each in containers(spec) if each.get("securityContext"))


def _validate_rest(spec: Obj, at: str, options: Options) -> Iterator[FieldError]:
    yield from _validate_names(spec, at, _NAMES[:2], validators.dns1123_subdomain)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        yield invalid(f"{at}.activeDeadlineSeconds", deadline, f"must be between 1 and {_INT32_MAX}, inclusive")
    yield from _validate_names(spec, at, _NAMES[2:], validators.dns1123_label)
    if spec.get("tolerations"):
        yield from validate_tolerations(spec["tolerations"], f"{at}.tolerations", options)
    if spec.get("hostAliases"):
        yield from validate_host_aliases(spec["hostAliases"], f"{at}.hostAliases")
    priority, runtime = spec.get("priorityClassName"), spec.get("runtimeClassName")
    for problem in validators.dns1123_subdomain(priority) if priority else ():
        yield invalid(f"{at}.priorityClassName", priority, problem)
    for problem in validators.dns1123_subdomain(runtime) if runtime is not None else ():
        yield invalid(f"{at}.runtimeClassName", runtime, problem)
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in ("PreemptLowerPriority", "Never"):
        yield from _unknown(preemption, ("PreemptLowerPriority", "Never"), f"{at}.preemptionPolicy")
    if spec.get("overhead"):
        yield from validate_container_requirements({"limits": spec["overhead"]}, _NOTHING, f"{at}.overhead", options)
    if spec.get("os") is not None:
        yield from validate_os(spec, at)
    if spec.get("schedulingGroup") is not None:
        yield from _validate_scheduling_group(spec["schedulingGroup"], f"{at}.schedulingGroup.podGroupName")
    if any(_reads_files(container) for container in containers(spec) if container.get("env")):
        yield from validate_file_references(spec, containers_at(spec, at))


_NAMES = ("serviceAccountName", "nodeName", "hostname", "subdomain")


def _validate_names(spec: Obj, at: str, fields: tuple[str, ...], check: Callable[[str], list[str]]) -> Iterator[FieldError]:
    for field in fields:
        value = spec.get(field)
        if value:
            for problem in check(value):
                yield invalid(f"{at}.{field}", value, problem)


def _reads_files(container: Obj) -> bool:
    return any(each["valueFrom"].get("fileKeyRef") is not None for each in container["env"] if each.get("valueFrom"))


def _validate_scheduling_group(group: Obj, at: str) -> Iterator[FieldError]:
    name = group.get("podGroupName")
    if name is None:
        yield invalid(at, None, "must specify one of: `podGroupName`")
        return
    for problem in validators.dns1123_subdomain(name):
        yield invalid(at, name, problem)


def _validate_resource_claims(claims: list[Obj], metadata: Obj | None, at: str) -> Iterator[FieldError]:
    if "kubernetes.io/config.mirror" in ((metadata or {}).get("annotations") or ()):
        # Once for each claim, and told of at the root.
        yield from (FieldError(Problem.FORBIDDEN, "", "", "static pods do not support resource claims") for _ in claims)
        return
    seen = set()
    for position, claim in enumerate(claims):
        here = f"{at}[{position}]"
        name = claim.get("name") or ""
        if not name:
            yield required(f"{here}.name")
        elif name in seen:
            yield duplicate(f"{here}.name", name)
        else:
            for problem in validators.dns1123_label(name):
                yield invalid(f"{here}.name", name, problem)
            seen.add(name)
        yield from _validate_claim_source(claim, here)


def _validate_claim_source(claim: Obj, at: str) -> Iterator[FieldError]:
    own, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
    if own is not None and template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield invalid(at, told(claim, "PodResourceClaim"), why)
    if own is None and template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield invalid(at, told(claim, "PodResourceClaim"), why)
    for field, name in (("resourceClaimName", own), ("resourceClaimTemplateName", template)):
        for problem in validators.dns1123_subdomain(name) if name is not None else ():
            yield invalid(f"{at}.{field}", name, problem)
