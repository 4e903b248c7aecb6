"""What the kubelet (or anybody) may report of a pod."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.core.pods.update import validate_annotations_of
from tiphys.api.ip import family, validate_legacy
from tiphys.api.pod_template.internal import told
from tiphys.api.resources import is_native
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import FieldError, duplicate, forbidden, internal, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_SYSTEM_CONDITIONS = frozenset(("PodScheduled", "Ready", "Initialized"))
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE_MAX = 1024
_NOT_NEGATIVE = "must be a non-negative integer"
_ONE_EACH = "may specify no more than one IP for each IP family"


def validate_status(pod: Obj, old: Obj) -> Iterator[FieldError]:
    status, old_status, spec = pod.get("status") or {}, old.get("status") or {}, pod["spec"]
    yield from validate_annotations_of(pod, old)
    yield from _validate_conditions(status.get("conditions") or [])
    yield from _validate_nomination(status, old_status, old["spec"])
    generation = status.get("observedGeneration") or 0
    if generation < 0:
        yield invalid("status.observedGeneration", generation, _NOT_NEGATIVE)
    qos = status.get("qosClass") or ""
    yield from validators.immutable(qos, old_status.get("qosClass") or "", "status.qosClass")
    yield from _validate_transitions(status, old_status, old["spec"])
    if status.get("resourceClaimStatuses"):
        yield from _validate_claims(status["resourceClaimStatuses"], spec)
    if status.get("extendedResourceClaimStatus") is not None:
        yield from _validate_extended_claim(status["extendedResourceClaimStatus"], spec)
    if status.get("nodeAllocatableResourceClaimStatuses"):
        yield from _validate_allocatable_claims(status, spec)
    yield from _validate_addresses(status, old_status, "podIPs")
    if status.get("hostIPs"):
        first = status["hostIPs"][0].get("ip") or ""
        if (status.get("hostIP") or "") != first:
            yield invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
        yield from _validate_addresses(status, old_status, "hostIPs")
    system = (spec.get("os") or {}).get("name") or "linux"
    for group in _STATUSES:
        for position, each in enumerate(status.get(group) or ()):
            if each.get("user") is not None:
                yield from _validate_user(each["user"], system, f"status.{group}[{position}].user.linux")
    for group in _STATUSES:
        containers = spec.get(group.replace("ontainerStatuses", "ontainers")) or []
        for position, each in enumerate(status.get(group) or ()):
            if each.get("allocatedResourcesStatus"):
                yield from _validate_health(each, containers, f"status.{group}[{position}].allocatedResourcesStatus")


def _validate_conditions(conditions: list[Obj]) -> Iterator[FieldError]:
    for position, condition in enumerate(conditions):
        here, kind = f"status.conditions[{position}]", condition.get("type") or ""
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            yield invalid(f"{here}.observedGeneration", generation, _NOT_NEGATIVE)
        if kind not in _SYSTEM_CONDITIONS:
            yield from validators.label_name(kind, f"{here}.Type")


def _validate_nomination(status: Obj, old_status: Obj, spec: Obj) -> Iterator[FieldError]:
    name = status.get("nominatedNodeName") or ""
    if not name or name == (old_status.get("nominatedNodeName") or ""):
        return
    for problem in validators.dns1123_subdomain(name):
        yield invalid("status.nominatedNodeName", name, problem)
    if spec.get("nodeName"):
        yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")


def _validate_transitions(status: Obj, old_status: Obj, spec: Obj) -> Iterator[FieldError]:
    """What has ended for good does not come back."""
    all_may_restart = _all_may_restart(spec)
    for group in _STATUSES:
        if group != "ephemeralContainerStatuses" and all_may_restart:
            continue
        new = status.get(group) or ()
        for position, old in enumerate(old_status.get(group) or ()):
            ended = (old.get("state") or {}).get("terminated")
            if not ended:
                continue
            same_name = [each for each in new if each.get("name") == old.get("name")]
            back = [each for each in same_name if not (each.get("state") or {}).get("terminated")]
            if back and not _may_restart(old, ended, group, spec):
                told_of = back if group == "ephemeralContainerStatuses" else back[:1]
                for _ in told_of:
                    yield forbidden(f"status.{group}[{position}].state", "may not be transitioned to non-terminated state")


def _all_may_restart(spec: Obj) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for group in ("initContainers", "containers")
        for container in spec.get(group) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _may_restart(status: Obj, ended: Obj, group: str, spec: Obj) -> bool:
    if group == "ephemeralContainerStatuses":
        return False
    listed = spec.get("containers" if group == "containerStatuses" else "initContainers") or ()
    found = next((each for each in listed if each.get("name") == status.get("name")), None)
    return found is not None and should_restart(found, spec, ended.get("exitCode") or 0)


def should_restart(container: Obj, spec: Obj, exit_code: int) -> bool:
    """By the container's own rules, its own policy, or that of the pod."""
    policy = container.get("restartPolicy")
    if policy is not None:
        if any(_rule_matches(rule, exit_code) for rule in container.get("restartPolicyRules") or ()):
            return True
    else:
        policy = spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _rule_matches(rule: Obj, exit_code: int) -> bool:
    codes = rule.get("exitCodes")
    if not codes or rule.get("action") not in ("Restart", "RestartAllContainers"):
        return False
    listed = exit_code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else not listed


def _validate_claims(statuses: list[Obj], spec: Obj) -> Iterator[FieldError]:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen = set()
    for position, status in enumerate(statuses):
        here, name = f"status.resourceClaimStatuses[{position}]", status.get("name") or ""
        if name not in known:
            yield invalid(f"{here}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
        claim = status.get("resourceClaimName")
        for problem in validators.dns1123_subdomain(claim) if claim is not None else ():
            yield invalid(f"{here}.resourceClaimName", claim, problem)


def _validate_extended_claim(status: Obj, spec: Obj) -> Iterator[FieldError]:
    at = "status.extendedResourceClaimStatus"
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    containers = {container.get("name"): container for container in every}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        yield required(f"{at}.requestMappings", "at least one request mapping is required")
    seen = set()
    for position, mapping in enumerate(mappings):
        here = f"{at}.requestMappings[{position}]"
        owner, name = mapping.get("containerName") or "", mapping.get("resourceName") or ""
        request = mapping.get("requestName") or ""
        if owner not in containers:
            why = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            yield invalid(f"{here}.containerName", owner, why)
        elif name not in ((containers[owner].get("resources") or {}).get("requests") or ()):
            why = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests "
                "or spec.containers.resources.requests"
            )
            yield invalid(f"{here}.resourceName", name, why)
        for problem in validators.dns1123_label(request):
            yield invalid(f"{at}.requestName", request, problem)
        if (owner, name, request) in seen:
            yield duplicate(f"{here}.containerName", owner)
            yield duplicate(f"{here}.resourceName", name)
            yield duplicate(f"{here}.requestName", request)
        seen.add((owner, name, request))
    claim = status.get("resourceClaimName") or ""
    if not claim:
        yield required(f"{at}.resourceClaimName")
    for problem in validators.dns1123_subdomain(claim) if claim else ():
        yield invalid(f"{at}.resourceClaimName", claim, problem)


def _validate_allocatable_claims(status: Obj, spec: Obj) -> Iterator[FieldError]:
    sources = [*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ())]
    known = {each.get("resourceClaimName") for each in sources}
    for position, each in enumerate(status["nodeAllocatableResourceClaimStatuses"]):
        here, name = f"status.nodeAllocatableResourceClaimStatuses[{position}]", each.get("resourceClaimName") or ""
        if not name:
            yield required(f"{here}.resourceClaimName", "must not be empty")
        if name not in known:
            yield invalid(f"{here}.resourceClaimName", name, "no mapping found in pod reference")
        for field in ("containers", "resources"):
            if not each.get(field):
                yield required(f"{here}.{field}", "must not be empty")
        for resource, amount in (each.get("resources") or {}).items():
            if not is_native(resource):
                yield invalid(f"{here}.resources[{resource}]", resource, "must be a node allocatable resource name")
            if quantity.parse(amount).sign() < 0:
                yield invalid(f"{here}.resources[{resource}]", amount, "must be non-negative")


def _validate_addresses(status: Obj, old_status: Obj, field: str) -> Iterator[FieldError]:
    """One of each family at the most; what was there already may be as odd as it likes."""
    listed = [each.get("ip") or "" for each in status.get(field) or ()]
    known = {each.get("ip") for each in old_status.get(field) or ()}
    at = f"status.{field}"
    for position, address in enumerate(listed):
        if address not in known:
            yield from validate_legacy(address, f"{at}[{position}]")
    if len(listed) > 1:
        unreadable = next((place for place, address in enumerate(listed) if family(address) is None), None)
        if unreadable is not None:
            why = f"failed to check for dual stack with error:invalid IP[{unreadable}]: {listed[unreadable]}"
            yield internal(at, why)
        if unreadable is not None or len(listed) > 2 or len({family(address) for address in listed}) < 2:
            yield invalid(at, told(status[field], "[]PodIP" if field == "podIPs" else "[]HostIP"), _ONE_EACH)


def _validate_user(user: Obj, system: str, at: str) -> Iterator[FieldError]:
    linux = user.get("linux")
    if linux is None:
        return
    if system == "windows":
        yield forbidden(at, "cannot be set for a windows pod")
        return
    for name in ("uid", "gid"):
        for problem in validators.user_id(linux.get(name) or 0):
            yield invalid(f"{at}.{name}", linux[name], problem)
    for position, group in enumerate(linux.get("supplementalGroups") or ()):
        for problem in validators.user_id(group):
            yield invalid(f"{at}.supplementalGroups[{position}]", group, problem)


def _validate_health(status: Obj, containers: list[Obj], at: str) -> Iterator[FieldError]:
    if "ephemeral" in at:
        yield forbidden(at, "must not be specified in container status")
        return
    container = next((each for each in containers if each.get("name") == status.get("name")), None)
    for position, allocated in enumerate(status["allocatedResourcesStatus"]):
        name = allocated.get("name") or ""
        if container is not None:
            problem = _unknown_allocation(name, container)
            if problem:
                yield invalid(f"{at}[{position}].name", name, problem)
        seen: set[Any] = set()
        for place, resource in enumerate(allocated.get("resources") or ()):
            here = f"{at}[{position}].resources[{place}]"
            health, message = resource.get("health") or "", resource.get("message")
            if health not in _HEALTH:
                yield not_supported(f"{here}.health", health, _HEALTH)
            if message is not None:
                if not message:
                    yield required(f"{here}.message", "must be non-empty if specified")
                elif validators.size(message) > _HEALTH_MESSAGE_MAX:
                    yield too_long(f"{here}.message", _HEALTH_MESSAGE_MAX)
            if resource.get("resourceID") in seen:
                yield duplicate(f"{here}.resourceID", resource.get("resourceID"))
            seen.add(resource.get("resourceID"))


def _unknown_allocation(name: str, container: Obj) -> str:
    resources = container.get("resources") or {}
    if not name.startswith("claim:"):
        return "" if name in (resources.get("requests") or ()) else "must match one of the container's resource requests"
    for claim in resources.get("claims") or ():
        request = claim.get("request")
        if name == f"claim:{claim.get('name')}" + (f"/{request}" if request else ""):
            return ""
    return (
        "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
        "or 'claim:<claimName>' if request is empty"
    )
