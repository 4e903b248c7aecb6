"""What is accepted but not wise: deprecated, without effect, or likely not meant."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.ip import warnings as ip_warnings
from tiphys.api.pod_template.annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from tiphys.api.pod_template.options import AFFINITIES, PREFERRED, REQUIRED, containers_at
from tiphys.api.pod_template.overlaps import overlap_warnings
from tiphys.api.pod_template.security import app_armor_of_annotation
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj

NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_NO_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NULL_SELECTOR = "a null labelSelector results in matching no pod"


def warnings(spec: Obj, metadata: Obj, at: str = "") -> Iterator[str]:
    """`at` is the path of the template, and empty for a pod."""
    here = f"{at}.spec" if at else "spec"
    annotations = metadata.get("annotations") or {}
    yield from _of_node_labels(spec, here)
    for name, told in _ANNOTATIONS.items() if annotations else ():
        if name in annotations:
            yield f"{_annotation(at, name)}: {told}"
    if spec.get("volumes"):
        yield from _of_volumes(spec["volumes"], f"{here}.volumes")
        yield from overlap_warnings(spec["volumes"])
    yield from _of_duplicates(spec, here)
    for name in ("memory", "ephemeral-storage") if spec.get("overhead") else ():
        yield from _fractional(spec["overhead"], name, f"{here}.overhead")
    if SECCOMP_POD in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        yield f"{_annotation(at, SECCOMP_POD)}: {_NO_FIELD}"
    for container, place in containers_at(spec, here):
        if annotations:
            yield from _of_profiles(container, spec, annotations, at)
        yield from _of_container(container, place)
    yield from _of_ports(spec, here)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        yield f"{here}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    if spec.get("affinity"):
        yield from _of_null_selectors(spec["affinity"], f"{here}.affinity")
    for position, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(server, f"{here}.dnsConfig.nameservers[{position}]")
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(alias.get("ip") or "", f"{here}.hostAliases[{position}].ip")


def _annotation(at: str, name: str) -> str:
    return f"{at}.metadata.annotations[{name}]" if at else f"metadata.annotations[{name}]"


def _of_node_labels(spec: Obj, at: str) -> Iterator[str]:
    for name in spec.get("nodeSelector") or ():
        if name in NODE_LABELS:
            yield f"{at}.nodeSelector[{name}]: {NODE_LABELS[name]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity")
    if affinity:
        place = f"{at}.affinity.nodeAffinity"
        for position, term in enumerate((affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
            yield from _of_node_term(term, f"{place}.{REQUIRED}.nodeSelectorTerms[{position}]", check_values=False)
        for position, term in enumerate(affinity.get(PREFERRED) or ()):
            yield from _of_node_term(term.get("preference") or {}, f"{place}.{PREFERRED}[{position}].preference", True)
    for position, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key = constraint.get("topologyKey") or ""
        if key in NODE_LABELS:
            yield f"{at}.topologySpreadConstraints[{position}].topologyKey: {key} is {NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.topologySpreadConstraints[{position}].labelSelector: {_NULL_SELECTOR}"


def _of_node_term(term: Obj, at: str, check_values: bool) -> Iterator[str]:
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        here, key = f"{at}.matchExpressions[{position}]", expression.get("key") or ""
        if key in NODE_LABELS:
            yield f"{here}.key: {key} is {NODE_LABELS[key]}"
        for place, value in enumerate(expression.get("values") or () if check_values else ()):
            for problem in validators.label_value(value):
                yield f"{here}.values[{place}]: {value} is invalid, {problem}"


def _of_volumes(volumes: list[Obj], at: str) -> Iterator[str]:
    for position, volume in enumerate(volumes):
        for kind, (name, told) in _VOLUMES.items():
            if volume.get(kind) is not None:
                yield f"{at}[{position}].{name}: {told}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template:
            resources = (template.get("spec") or {}).get("resources") or {}
            here = f"{at}[{position}].ephemeral.volumeClaimTemplate.spec.resources"
            for what in ("requests", "limits"):
                # Upstream names requests and limits rightly here, and stops at storage.
                yield from _fractional(resources.get(what) or {}, "storage", f"{here}.{what}")


def _of_duplicates(spec: Obj, at: str) -> Iterator[str]:
    seen = set()
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        address = alias.get("ip") or ""
        if address in seen:
            yield f"{at}.hostAliases[{position}].ip: duplicate ip {quote(address)}"
        seen.add(address)
    secrets = [each.get("name") or "" for each in spec.get("imagePullSecrets") or ()]
    for position, name in enumerate(secrets):
        if name in secrets[:position]:
            yield f"{at}.imagePullSecrets[{position}].name: duplicate name {quote(name)}"
    for position, name in enumerate(secrets):
        if not name:
            yield f'{at}.imagePullSecrets[{position}].name: invalid empty name ""'


def _fractional(amounts: Obj, name: str, at: str) -> Iterator[str]:
    text = amounts.get(name)
    # Only milli (or a broken exponent) can make it so, once it is canonical.
    if text and not text[-1].isdigit() and text[-1] in "mun":
        amount = quantity.parse(text)
        if amount.milli() % 1000:
            yield f"{at}[{name}]: fractional byte value {quote(text)} is invalid, must be an integer"


def _of_profiles(container: Obj, spec: Obj, annotations: Obj, at: str) -> Iterator[str]:
    context, name = container.get("securityContext") or {}, container.get("name") or ""
    if context.get("seccompProfile") is None and SECCOMP_CONTAINER + name in annotations:
        yield f"{_annotation(at, SECCOMP_CONTAINER + name)}: {_NO_FIELD}"
    annotation = annotations.get(APP_ARMOR + name)
    if at and annotation is not None and context.get("appArmorProfile") is None:
        of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
        if of_pod is None or of_pod != app_armor_of_annotation(annotation):
            yield f'{_annotation(at, APP_ARMOR + name)}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _of_container(container: Obj, at: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage") if resources else ():
        for what in ("limits", "requests"):
            yield from _fractional(resources.get(what) or {}, name, f"{at}.resources.{what}")
    variables = container.get("env") or ()
    if len(variables) < 2:
        return
    seen = set()
    for position, variable in enumerate(variables):
        name = variable.get("name") or ""
        if name in seen:
            # It may refer to the one before; to repeat it exactly says nothing.
            reference, value = f"$({name})", variable.get("value") or ""
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                told = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
                yield f"{at}.env[{position}]: {told}"
        seen.add(name)


def _of_ports(spec: Obj, at: str) -> Iterator[str]:
    taken: dict[Any, list[tuple[str, Obj]]] = {}
    names: dict[str, str] = {}
    named = []
    for container, place in containers_at(spec, at):
        for position, port in enumerate(container.get("ports") or ()):
            here = f"{place}.ports[{position}]"
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{here}: hostIP set without hostPort: {_port(port)}"
            others = taken.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other_place, other in others:
                told = _port_clash(port, other)
                if told:
                    yield f"{here}: {told} port definition with {other_place}"
            others.append((here, port))
            name = port.get("name")
            if name and name in names:
                first = names[name]
                why = f"services and probes that select ports by name will use {first}"
                named.append(f"{here}: duplicate port name {quote(name)} with {first}, {why}")
            elif name:
                names[name] = here
    yield from named


def _port(port: Obj) -> str:
    """As Go prints the struct."""
    host, own = port.get("hostPort") or 0, port.get("containerPort") or 0
    name, protocol, address = port.get("name") or "", port.get("protocol") or "", port.get("hostIP") or ""
    return f"{{Name:{name} HostPort:{host} ContainerPort:{own} Protocol:{protocol} HostIP:{address}}}"


def _port_clash(port: Obj, other: Obj) -> str:
    host, other_host = port.get("hostPort") or 0, other.get("hostPort") or 0
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    if (address, host) == (other_address, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _of_null_selectors(affinity: Obj, at: str) -> Iterator[str]:
    for side in AFFINITIES:
        terms = affinity.get(side) or {}
        for position, term in enumerate(terms.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at}.{side}.{REQUIRED}[{position}].labelSelector: {_NULL_SELECTOR}"
        for position, term in enumerate(terms.get(PREFERRED) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}.{side}.{PREFERRED}[{position}].podAffinityTerm.labelSelector: {_NULL_SELECTOR}"
