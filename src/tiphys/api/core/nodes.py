"""Node: a machine that runs pods, as its kubelet reports it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tiphys.api import ip, resources, unset_times
from tiphys.api.core.cells import NONE, UNKNOWN
from tiphys.api.core.rounding import round_up
from tiphys.api.core.structs import spelled
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template import amounts
from tiphys.machinery.fields import (
    FieldError,
    Problem,
    child,
    duplicate,
    forbidden,
    index,
    internal,
    invalid,
    not_supported,
    required,
)
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import (
    config_map_key,
    dns1123_label,
    dns1123_subdomain,
    label_name,
    label_value,
)

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_AVOID_PODS = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"
_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_TOLD = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_POD_CIDRS_FIXED = 'node updates may not change podCIDR except from "" to valid'
_CONFIG_SOURCE_TOLD = "exactly one reference subfield must be non-nil"


def default(node: Obj) -> None:
    spec, status = node.setdefault("spec", {}), node.setdefault("status", {})
    _default_pod_cidrs(spec)
    for part in ("capacity", "allocatable"):
        round_up(status.get(part))
    if status.get("allocatable") is None and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])
    status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault("Port", 0)
    unset_times.show(status.get("conditions"), ("lastHeartbeatTime", "lastTransitionTime"))
    info = status.setdefault("nodeInfo", {})
    for part in _INFO:
        info.setdefault(part, "")


def _default_pod_cidrs(spec: Obj) -> None:
    """The old field and the first of the new ones are the same; where they differ, the old one counts."""
    single, several = spec.get("podCIDR") or "", spec.get("podCIDRs") or []
    if single and (not several or several[0] != single):
        spec["podCIDRs"] = [single]
    elif several:
        spec["podCIDR"] = several[0]


def prepare_create(node: Obj) -> None:
    """Dynamic kubelet configuration is gone; what still uses it may keep it."""
    node.get("spec", {}).pop("configSource", None)
    node.get("status", {}).pop("config", None)


def prepare_update(new: Obj, old: Obj) -> None:
    if "configSource" not in (old.get("spec") or {}):
        (new.get("spec") or {}).pop("configSource", None)


def prepare_status(new: Obj, old: Obj) -> None:
    if "config" not in (old.get("status") or {}):
        (new.get("status") or {}).pop("config", None)


def validate(node: Obj) -> Iterator[FieldError]:
    yield from _validate_avoided_pods(node)
    yield from _validate_taints(get(node, ("spec", "taints"), ()))
    yield from _validate_amounts(node)
    swap = get(node, ("status", "nodeInfo", "swap", "capacity"))
    if swap is not None and swap <= 0:
        # The path is upstream's, although the field is in the status.
        yield invalid("metadata.nodeSwapStatus.capacity", swap, resources.GREATER_THAN_ZERO)
    yield from _validate_features(node)
    yield from _validate_pod_cidrs(get(node, ("spec", "podCIDRs"), []))


def _validate_pod_cidrs(cidrs: list[str]) -> Iterator[FieldError]:
    for position, value in enumerate(cidrs):
        yield from ip.validate_legacy_cidr(value, index("spec.podCIDRs", position))
    if len(cidrs) < 2:
        return
    families = [ip.family(value) if ip.parse_cidr(value) else None for value in cidrs]
    if None in families:
        position = families.index(None)
        why = f"invalid CIDR[{position}]: <nil> (invalid CIDR address: {cidrs[position]})"
        yield internal("spec.podCIDRs", f"invalid PodCIDRs. failed to check with dual stack with error:{why}")
    if None in families or len(set(families)) < 2 or len(cidrs) > 2:
        yield invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family")


def _validate_taints(taints: list[Obj]) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        at = index("metadata.taints", position)
        name, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from label_name(name, child(at, "key"))
        if problems := label_value(value):
            yield invalid(child(at, "value"), value, ";".join(problems))
        if not effect:
            yield required(child(at, "effect"))
        elif effect not in TAINT_EFFECTS:
            yield not_supported(child(at, "effect"), effect, TAINT_EFFECTS)
        if (effect, name) in seen:
            shown = {"Key": name, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            told = "taints must be unique by key and effect pair"
            yield FieldError(Problem.DUPLICATE, at, spelled(shown), told)
        seen.add((effect, name))


def _validate_amounts(node: Obj) -> Iterator[FieldError]:
    for part in ("capacity", "allocatable"):
        for name, value in amounts.parsed(get(node, ("status", part))).items():
            yield from resources.validate_quantity(name, value, child("status", part, name))


def _validate_features(node: Obj) -> Iterator[FieldError]:
    at = "status.declaredFeatures"
    features: list[str] = get(node, ("status", "declaredFeatures"), [])
    for position, feature in enumerate(features):
        told = f"invalid feature name {json.dumps(feature)}: "
        if len(feature) > 253:
            yield invalid(index(at, position), feature, told + "must be no more than 253 characters")
        elif not _FEATURE.fullmatch(feature):
            yield invalid(index(at, position), feature, told + _FEATURE_TOLD)
        if position + 1 < len(features):
            following = features[position + 1]
            if feature == following:
                yield duplicate(index(at, position + 1), following)
            elif feature > following:
                yield invalid(index(at, position + 1), following, "list must be sorted alphabetically")


def _validate_avoided_pods(node: Obj) -> Iterator[FieldError]:
    annotation = (node.get("metadata", {}).get("annotations") or {}).get(_AVOID_PODS)
    if not annotation:
        return
    try:
        entries = json.loads(annotation).get("preferAvoidPods") or ()
    except (ValueError, AttributeError) as problem:
        yield invalid("metadata.annotations.AvoidPods", _AVOID_PODS, str(problem))
        return
    for position, entry in enumerate(entries):
        at = child(index(child("metadata.annotations", _AVOID_PODS), position), "PodSignature")
        owner = get(entry, ("podSignature", "podController"))
        if owner is None:
            yield required(at)
        elif not owner.get("controller"):
            yield invalid(child(at, "PodController", "Controller"), False, "must point to a controller")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Also of the status; what `validate` tells of too, upstream tells twice."""
    yield from _validate_avoided_pods(new)
    yield from _validate_amounts(new)
    yield from _validate_features(new)
    yield from _validate_addresses(new)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    had, has = before.get("podCIDRs") or [], after.get("podCIDRs") or []
    if had and len(had) != len(has):
        yield forbidden("spec.podCIDRs", _POD_CIDRS_FIXED)
    elif had:
        yield from (forbidden("spec.podCIDRs", _POD_CIDRS_FIXED) for one, other in zip(had, has, strict=True) if one != other)
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    if (source := after.get("configSource")) is not None:
        yield from _validate_config_source(source, "spec.configSource", in_status=False)
    for part in ("assigned", "active", "lastKnownGood"):
        if (source := get(new, ("status", "config", part))) is not None:
            yield from _validate_config_source(source, child("status.config", part), in_status=True)
    yield from _validate_taints(after.get("taints") or [])
    if after.get("externalID", "") != before.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _validate_addresses(node: Obj) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for position, address in enumerate(get(node, ("status", "addresses"), ())):
        what = (address.get("type", ""), address.get("address", ""))
        if what in seen:
            yield duplicate(index("status.addresses", position), spelled({"Type": what[0], "Address": what[1]}))
        seen.add(what)


def _validate_config_source(source: Obj, at: str, *, in_status: bool) -> Iterator[FieldError]:
    reference = source.get("configMap")
    if reference is None:
        yield invalid(at, spelled({"ConfigMap": None}), _CONFIG_SOURCE_TOLD)
        return
    at = child(at, "configMap")
    for part in ("uid", "resourceVersion"):
        if in_status and not reference.get(part):
            yield required(child(at, part))
        elif not in_status and reference.get(part):
            yield forbidden(child(at, part), f"{part} must not be set in spec")
    for part, check in (("namespace", dns1123_label), ("name", dns1123_subdomain), ("kubeletConfigKey", config_map_key)):
        value = reference.get(part) or ""
        if not value:
            yield required(child(at, part))
            continue
        for problem in check(value):
            yield invalid(child(at, part), value, problem)


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    spec = new.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for position, value in enumerate(spec.get("podCIDRs") or ()):
        yield from ip.cidr_warnings(value, index("spec.podCIDRs", position))


def _unschedulable(node: Obj) -> str:
    return "true" if get(node, ("spec", "unschedulable")) else "false"


def _status(node: Obj, _: float) -> str:
    # Of conditions that repeat a type the last one counts.
    ready = [each.get("status") for each in get(node, ("status", "conditions"), ()) if each.get("type") == "Ready"]
    told = "Unknown"
    if ready:
        told = "Ready" if ready[-1] == "True" else "NotReady"
    return f"{told},SchedulingDisabled" if get(node, ("spec", "unschedulable")) else told


def _roles(node: Obj, _: float) -> str:
    labels: dict[str, str] = get(node, ("metadata", "labels"), {})
    roles = {name.removeprefix(_ROLE_PREFIX) for name in labels if name.startswith(_ROLE_PREFIX)} | {labels.get(_ROLE, "")}
    return ",".join(sorted(roles - {""})) or NONE


def _address(kind: str) -> Any:
    def cell(node: Obj, _: float) -> str:
        addresses: list[Obj] = get(node, ("status", "addresses"), [])
        return next((each.get("address", "") for each in addresses if each.get("type") == kind), NONE)

    return cell


def _info(part: str) -> Any:
    def cell(node: Obj, _: float) -> str:
        told = get(node, ("status", "nodeInfo", part)) or UNKNOWN
        architecture = get(node, ("status", "nodeInfo", "architecture"))
        return f"{told} ({architecture})" if part == "kernelVersion" and architecture else told

    return cell


NODES = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    singular="node",
    schema="io.k8s.api.core.v1.Node",
    namespaced=False,
    short=("no",),
    storage_prefix="minions",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_update,
    warnings=warnings,
    strategy=Strategy(status=True, status_on_create=True),
    selectable=("spec.unschedulable",),
    field_of={"spec.unschedulable": _unschedulable},
    columns=(
        Column("Status", _status, description="The status of the node"),
        Column("Roles", _roles, description="The roles of the node"),
        AGE,
        Column("Version", "status.nodeInfo.kubeletVersion", description="Version of its kubelet."),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", _info("osImage"), wide=True),
        Column("Kernel-Version", _info("kernelVersion"), wide=True),
        Column("Container-Runtime", _info("containerRuntimeVersion"), wide=True),
    ),
    subresources=("proxy",),
)
